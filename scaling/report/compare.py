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
from scaling.journal.beside import HOSTS_FILE, folders_of
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
# What is printed and written of a study on several machines.

MACHINES_FILE = "machines.md"


def finish_several(folder: Path, console: Console) -> None:
    """End a run on several machines: write each one's files beside its journal, then compare them.

    Raises:
        ScalingError: a machine has no valid run of a workload, or something cannot be written.
    """
    from scaling.report.page.render import FILE_NAME as PAGE
    from scaling.report.page.render import machines_page

    quiet = new_console(quiet=True)
    machines, lacking = {}, []
    for each in folders_of(folder):
        results = StudyResults.of(read(each, console))
        if without := without_figure(results):
            say(console, f"{each.name}: {without}; see {each}")
            lacking.append(each.name)
        if not results.frame["valid"].any():
            continue
        answered(results, each, quiet)
        machines[each.name] = results
    if not machines:
        raise ScalingError(f"no host has a valid run in {folder}, so there is no figure")
    known = HOSTS_FILE.read(folder)
    standings = known.hosts if known else {}
    found = machines_chapters(machines, standings)
    console.print(Group(*found))
    text = chapters_markdown(found) + "\n"
    file, page = folder / MACHINES_FILE, folder / PAGE
    write_text(file, text, AGAIN)
    write_text(page, machines_page(machines, standings), AGAIN)
    say(console, f"page:   {page}\ntables: {file}; each machine has a folder of its own")
    if lacking:
        raise ScalingError(f"on {listed(lacking)} no run of a workload is valid; see above")


# -------------------------------------------------------------------------------------- the command

FILE_NAME = "comparison.md"
AGAIN = "scaling compare"
NOTHING = "Nothing to compare: the study has one arm, one model and one loop."


def compare(results: Sequence[Path], output: Path | None, console: Console) -> None:
    """Print the comparison of the studies in `results`.

    A folder of several machines (`scaling run --hosts`) stands for the studies in it.

    With `output` the words and tables are also written there, and the tables of each study: of
    several studies each has a folder.

    Raises:
        UsageError: a journal cannot be read, or one was named twice.
        ScalingError: something cannot be written.
    """
    several = [folders_of(path) or [path] for path in results]
    journals = [read(path, console) for paths in several for path in paths]
    paths = [journal.path.resolve() for journal in journals]
    if len(set(paths)) < len(paths):
        raise UsageError("a study was named twice; it cannot be compared with itself")
    studies = dict(zip(_names(journals), map(StudyResults.of, journals), strict=True))
    found = _machines(studies, results) or _programs(studies) or _several(studies)
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


def _machines(studies: Mapping[str, StudyResults], results: Sequence[Path]) -> list[Chapter]:
    """The machines side by side; empty if two of the studies were made on the same one."""
    if not 1 < len(studies) == len({each.study.machine.id for each in studies.values()}):
        return []
    standings = {
        label: standing
        for path in results
        if (known := HOSTS_FILE.read(path)) is not None
        for label, standing in known.hosts.items()
    }
    return machines_chapters(studies, standings)


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
