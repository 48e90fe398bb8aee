"""`scaling claims`: judges the claims by the studies, prints and writes them, grouped by source."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from scaling.analysis.claims import Source, read_claims
from scaling.analysis.claims.judging import (
    FAMILY,
    UNTESTED,
    WORDS,
    JudgedClaim,
    Word,
    judge,
    with_unit,
)
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.statistics.hypotheses import CORRECTIONS
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.journal.protected_write import write_text
from scaling.journal.reading import journal_in
from scaling.report.files import read
from scaling.report.tables.grid import STYLES

# The words for several claims.
PLURALS: dict[Word, str] = {"holds": "hold", "does not hold": "do not hold"}
WORD_WIDTH = len("does not hold")


def _printed(judged: Sequence[JudgedClaim]) -> Iterator[Text | Table]:
    """A heading for each source, and its claims; the first column is as wide as a word."""
    for source, claims in _by_source(judged):
        yield Text(_heading(source), "bold")
        if place := source.url or source.where:
            yield Text(place, "dim")
        yield Text()
        shown = Table(box=None, show_header=False, padding=(0, 2, 1, 0), pad_edge=False)
        shown.add_column(width=WORD_WIDTH)
        shown.add_column(overflow="fold")
        for each in claims:
            shown.add_row(Text(each.word, STYLES[each.word]), _text(each))
        yield shown
        yield Text()


def _text(each: JudgedClaim) -> Text:
    text = Text(each.claim.claim)
    for label, line in _lines(each):
        text.append(f"\n{label}: ", "dim").append(line, "" if label == "ours" else "dim")
    return text


def _lines(each: JudgedClaim) -> Iterator[tuple[str, str]]:
    """What stands under a claim, each with its label."""
    claim = each.claim
    if claim.theirs:
        yield "theirs", claim.theirs
    for figure in each.ours:
        yield "ours", f"{with_unit(figure.estimate)}, {figure.what}"
    if each.ours:
        yield "study", f"{each.study}, controls {each.doubt}" if each.doubt else each.study
    if each.builds_differ:
        yield "builds", f"they also differ in {each.builds_differ}"
    if each.ours and claim.why:
        yield "rule", claim.why
    yield "why", each.reason
    if each.ours and claim.note:
        yield "note", claim.note


def missing(judged: Sequence[JudgedClaim]) -> list[tuple[str, str]]:
    """What is not measured, in words, each with the command that measures it: most claims first."""
    commands = Counter(each.run for each in judged if each.run).most_common()
    return [(f"Not measured for {formats.plural(n, 'claim')}", run) for run, n in commands]


def counts(judged: Sequence[JudgedClaim]) -> str:
    """`12 claims: 1 holds, 3 do not hold, 2 inconclusive, 6 cannot be tested here.`."""
    found = Counter(each.word for each in judged)
    parts = [
        f"{found[word]} {word if found[word] == 1 else PLURALS.get(word, word)}"
        for word in (*(WORDS[side] for side in (1, -1, 0)), UNTESTED)
        if found[word]
    ]
    return f"{formats.plural(len(judged), 'claim')}: {', '.join(parts)}."


def figures_note(judged: Sequence[JudgedClaim]) -> str:
    """What the brackets show and how the tests are corrected; empty without figures."""
    spread = bounds_kind(figure.estimate for each in judged for figure in each.ours)
    if not spread:
        return ""
    return (
        f"In brackets the {spread}. A claim is decided only where that is clear of the rule's "
        "bounds, or of 1 by more than the margin of its study where the rule has none, and where "
        f"this is significant after {CORRECTIONS[FAMILY].name} correction over the tests of "
        "all claims (5 %)."
    )


def markdown(judged: Sequence[JudgedClaim]) -> str:
    """The same for a text: a section for each source, an item for each claim."""
    parts = ["# Claims", counts(judged)]
    parts += [note] if (note := figures_note(judged)) else []
    for source, claims in _by_source(judged):
        parts.append(f"## {_safe(_heading(source))}")
        if place := source.url or source.where:
            parts.append(f"<{place}>" if source.url else place)
        parts.append("\n".join(line for each in claims for line in _item(each)))
    if commands := missing(judged):
        parts.append("## What is not measured")
        parts.append("\n".join(f"- {what}: `{run}`" for what, run in commands))
    return "\n\n".join(parts) + "\n"


def _item(each: JudgedClaim) -> Iterator[str]:
    yield f"- **{each.word}** · {_safe(each.claim.claim)}"
    for label, line in _lines(each):
        yield f"  - {label}: {_safe(line)}"


def _by_source(
    judged: Sequence[JudgedClaim],
) -> Iterator[tuple[Source, list[JudgedClaim]]]:
    for _, some in groupby(judged, key=lambda each: each.claim.source):
        claims = list(some)
        yield claims[0].source, claims


def _heading(source: Source) -> str:
    """`Title, Author, 2025`."""
    return ", ".join(str(part) for part in (source.title, source.author, source.year) if part)


def _safe(text: str) -> str:
    """A text on one line, without what Markdown would take for its own; `code` stays code."""
    plain = " ".join(text.split())
    parts = plain.split("`")
    return "`".join(
        part if place % 2 else re.sub(r"([\\*_<|])", r"\\\1", part)
        for place, part in enumerate(parts)
    )


# -------------------------------------------------------------------------------------- the command
# `scaling claims`: reads the studies, judges the claims, prints and writes them.

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
    console.print(Group(*_printed(shown)))
    for what, command in missing(judged)[: None if everything else MOST_COMMANDS]:
        say(console, f"{what}:\n  {command}")
    left_out = _left_out(len(judged) - len(shown))
    for line in filter(None, (figures_note(judged), left_out, counts(judged))):
        console.print(Text(f"\n{line}"))
    if output is not None:
        write_text(output, markdown(judged), "scaling claims")
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
