"""`scaling compare`: a study's arms, models and loops side by side, or one study beside another.

From journals alone. One study is printed with all of its tables; of several studies the later ones
are compared with the first, cell by cell, and each one's own comparison follows. Studies that were
each made on another machine are put side by side instead.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from scaling.analysis.comparison.between_studies import across
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.journal.hosts import folders_of, read_hosts
from scaling.journal.protected_write import write_file
from scaling.report.output import print_tables, read
from scaling.report.tables.across_view import across_chapters
from scaling.report.tables.comparison import chapters
from scaling.report.tables.comparison_view import Comparison, comparison_markdown
from scaling.report.tables.grid import Chapter
from scaling.report.tables.machines_view import machines_chapters

FILE_NAME = "comparison.md"
AGAIN = "scaling compare"


def compare(results: Sequence[Path], output: Path | None, console: Console) -> None:
    """Print the comparison of the studies in `results`, and write it.

    A folder of several machines (`scaling run --hosts`) stands for the studies in it.

    One study's tables and plots go to `output`, by default beside its journal. Several are only
    printed unless there is an `output`: a file with the words and tables then, and a folder with
    the tables and plots of each study.

    Raises:
        UsageError: a journal cannot be read, or one was named twice.
        ScalingError: something cannot be written.
    """
    several = [folders_of(path) or [path] for path in results]
    journals = [read(path, console) for paths in several for path in paths]
    if len(journals) == 1:
        (journal,) = journals
        print_tables(journal, output or journal.path.parent, console)
        return
    paths = [journal.path.resolve() for journal in journals]
    if len(set(paths)) < len(paths):
        raise UsageError("a study was named twice; it cannot be compared with itself")
    found = _machines(journals, results) or _several(journals)
    console.print(Comparison(found))
    if output is not None:
        text = comparison_markdown(found) + "\n"
        write_file(output / FILE_NAME, lambda file: file.write_text(text, encoding="utf-8"), AGAIN)
        quiet = new_console(quiet=True)
        for name, journal in zip(_names(journals), journals, strict=True):
            print_tables(journal, output / name, quiet)
        say(console, f"written: {output}, with a folder for each study")


def _machines(journals: list[Journal], results: Sequence[Path]) -> list[Chapter]:
    """The machines side by side; empty if two of the studies were made on the same one."""
    if len({journal.study.machine.id for journal in journals}) < len(journals):
        return []
    standings = {
        label: standing
        for path in results
        if (known := read_hosts(path)) is not None
        for label, standing in known.hosts.items()
    }
    named = zip(_names(journals), map(StudyResults.of, journals), strict=True)
    return machines_chapters(dict(named), standings)


def _several(journals: list[Journal]) -> list[Chapter]:
    """The later studies over the first, then each study's own comparison."""
    first, *later = journals
    names = _names(journals)
    every: list[Chapter] = []
    for name, journal in zip(names[1:], later, strict=True):
        found = across((first.frame, first.study), (journal.frame, journal.study))
        every += across_chapters(found, names[0], name)
    for name, journal in zip(names, journals, strict=True):
        own = chapters(StudyResults.of(journal))
        if own:
            every += [Chapter(f"The study {name}", []), *own]
    return every


def _names(journals: list[Journal]) -> list[str]:
    """What the studies are called: their folders' names, with the parents' where two are the same.

    A number follows where that is the same, too.
    """
    folders = [journal.path.resolve().parent for journal in journals]
    short = [folder.name or each.study.name for folder, each in zip(folders, journals, strict=True)]
    names: list[str] = []
    for folder, name in zip(folders, short, strict=True):
        longer = name if short.count(name) == 1 else f"{folder.parent.name}-{name}"
        same = sum(each == longer or each.startswith(f"{longer} #") for each in names)
        names.append(f"{longer} #{same + 1}" if same else longer)
    return names
