"""`scaling compare`: a study's arms, models and loops side by side, or one study beside another.

From journals alone, and nothing is drawn. Of several studies the later ones are compared with the
first, cell by cell, and each one's own comparison follows. Studies that were each made on another
machine, and those of several applications, are put side by side instead.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group

from scaling.analysis.between_studies import Across, application_of, programs
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.journal.protected_write import write_text
from scaling.report.files import read, say_incomplete, write_tables
from scaling.report.output import answered, without_figure
from scaling.report.tables.between_studies import (
    across_chapters,
    machines_chapters,
    programs_chapter,
)
from scaling.report.tables.comparison import chapters
from scaling.report.tables.grid import Chapter, chapters_markdown

# --------------------------------------------------------------------------------- several machines


def finish_several(folders: Mapping[str, Path], console: Console) -> None:
    """End a run on several machines, by label: write each one's files, then compare them.

    Raises:
        ScalingError: a machine has no valid run of a workload, or something cannot be written.
    """
    from scaling.report.page.render import FILE_NAME as PAGE

    quiet = new_console(quiet=True)
    machines, lacking = {}, []
    for label, folder in folders.items():
        try:
            results = StudyResults.of(read(folder, console))
        except UsageError as error:
            say(console, f"{label}: {error}")
            continue
        if without := without_figure(results):
            say(console, f"{label}: {without}; see {folder}")
            lacking.append(label)
        if results.frame["valid"].any():
            answered(results, folder, quiet)
            machines[label] = results
    if not machines:
        raise ScalingError("no host has a valid run, so there is no figure")
    console.print(Group(*_side_by_side(machines)))
    for label in machines:
        say(console, f"page of {label}: {folders[label] / PAGE}")
    if lacking:
        raise ScalingError(f"on {listed(lacking)} no run of a workload is valid; see above")


# -------------------------------------------------------------------------------------- the command

FILE_NAME = "comparison.md"
AGAIN = "scaling compare"
NOTHING = "Nothing to compare: the study has one arm, one model and one loop."


def compare(results: Sequence[Path], output: Path | None, console: Console) -> None:
    """Print the comparison of the studies in `results`.

    With `output` the words and tables are also written there, and the tables of each study: of
    several studies each has a folder.

    Raises:
        UsageError: a journal cannot be read, or one was named twice.
        ScalingError: something cannot be written.
    """
    journals = [read(path, console) for path in results]
    paths = [journal.path.resolve() for journal in journals]
    if len(set(paths)) < len(paths):
        raise UsageError("a study was named twice; it cannot be compared with itself")
    studies = dict(zip(_names(journals), map(StudyResults.of, journals), strict=True))
    found = _side_by_side(studies)
    console.print(Group(*found))
    if output is not None:
        text = chapters_markdown(found) + "\n"
        write_text(output / FILE_NAME, text, AGAIN)
        is_one = len(studies) == 1
        for name, study in studies.items():
            write_tables(study, output if is_one else output / name)
        say(console, f"written: {output}{'' if is_one else ', a folder for each study'}")
    for journal in journals:
        say_incomplete(journal, console)


def _side_by_side(studies: Mapping[str, StudyResults]) -> list[Chapter]:
    return _machines(studies) or _programs(studies) or _several(studies)


def _machines(studies: Mapping[str, StudyResults]) -> list[Chapter]:
    """The machines side by side; empty if two of the studies were made on the same one."""
    if not 1 < len(studies) == len({each.study.machine.id for each in studies.values()}):
        return []
    return machines_chapters(studies)


def _programs(studies: Mapping[str, StudyResults]) -> list[Chapter]:
    """The programs side by side; empty unless the studies are those of several."""
    applications = {application_of(each) for each in studies.values()}
    if "" in applications or len(applications) == 1:
        return []
    return [programs_chapter(programs(studies))]


def _several(studies: Mapping[str, StudyResults]) -> list[Chapter]:
    """The later studies over the first, then each study's own comparison."""
    (before, first), *later = studies.items()
    every: list[Chapter] = []
    for name, study in later:
        every += across_chapters(Across(first, study), before, name)
    for name, study in studies.items():
        heading = [Chapter(f"The study {name}", [])] if later else []
        if own := chapters(study):
            every += [*heading, *own]
    return every or [Chapter(NOTHING, [])]


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
