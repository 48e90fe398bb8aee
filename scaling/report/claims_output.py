"""`scaling claims`: reads the studies, judges the claims, prints and writes them."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scaling.analysis.claims.judging import UNTESTED, judge
from scaling.analysis.claims.reading import read_claims
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.journal.protected_write import write_file
from scaling.journal.reading import journal_in
from scaling.report.claims_view import View, counts, figures_note, markdown, missing
from scaling.report.reading import read

MOST_COMMANDS = 3  # that measure what is missing, unless everything is printed


def print_claims(
    results: Sequence[Path],
    claims: Path | None,
    output: Path | None,
    console: Console,
    *,
    everything: bool = False,
) -> None:
    """Judge the claims by the studies in `results`, print them, and write them to `output`.

    `claims` is a list of one's own. Claims that cannot be tested are only counted, unless
    `everything` is printed: one study tests few of the built-in list.

    Raises:
        UsageError: no journal that could be read, a wrong list, or `output` is a journal.
        ScalingError: it cannot be written.
    """
    listed = read_claims(claims)
    judged = judge(journals_in(results, console), listed)
    shown = [each for each in judged if everything or each.word != UNTESTED]
    console.print(View(shown))
    for what, command in missing(judged)[: None if everything else MOST_COMMANDS]:
        say(console, f"{what}:\n  {command}")
    left_out = _left_out(len(judged) - len(shown))
    for line in filter(None, (figures_note(judged), left_out, counts(judged))):
        console.print(Text(f"\n{line}"))
    if output is not None:
        text = markdown(judged)
        write_file(output, lambda file: file.write_text(text, encoding="utf-8"), "scaling claims")
        say(console, f"written: {output}")


def _left_out(claims: int) -> str:
    if not claims:
        return ""
    return (
        f"Left out: {formats.plural(claims, 'claim')} that cannot be tested here. "
        "--all prints them, too, with the reasons and all commands that measure them."
    )


def journals_in(results: Sequence[Path], console: Console) -> list[Journal]:
    """The journals of folders of studies, and of folders of those, each once.

    A study inside a folder that cannot be read is skipped with a message; one that was named is
    an error.

    Raises:
        UsageError: one that was named cannot be read, or there is none at all.
    """
    found: dict[Path, Journal] = {}
    for path in results:
        inside = _studies_inside(path)
        for each in inside or [path]:
            try:
                journal = read(each, console)
            except UsageError as error:
                if not inside:
                    raise
                say(console, str(error))
                continue
            found.setdefault(journal.path.resolve(), journal)
    if not found:
        raise UsageError("none of these folders has a study that could be read")
    return list(found.values())


def _studies_inside(path: Path) -> list[Path]:
    """The folders of studies in a folder that is none itself."""
    if not path.is_dir() or journal_in(path):
        return []
    return sorted(folder for folder in path.iterdir() if journal_in(folder))
