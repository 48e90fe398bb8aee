"""`scaling compare`: one study beside another, several machines, or several programs.

From journals alone, and nothing is drawn. Of several studies the later ones are compared with the
first, cell by cell. Studies that were each made on another machine, and those of several
applications, are put side by side instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scaling.analysis.tables.across import across
from scaling.analysis.tables.study import Study
from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.journal.protected_write import write_text
from scaling.report.files import read, say_incomplete
from scaling.report.output import without_figure, write_all
from scaling.report.page import FILE_NAME as PAGE
from scaling.report.render.document import Document, html, markdown
from scaling.report.render.grid import Grid
from scaling.report.render.terminal import table
from scaling.report.view.across import (
    CHANGES,
    MACHINES,
    PROGRAMS,
    about_two,
    conclusions,
    programs,
)
from scaling.report.view.notes import machine_text, warnings
from scaling.report.view.tables import RATIOS

FILE_NAME, MACHINES_FILE = "comparison.md", "machines.md"
AGAIN = "scaling compare"
NOTHING = "Nothing to compare: the study has one arm, one model and one loop."


def compare(results: Sequence[Path], output: Path | None, console: Console) -> None:
    """Print the comparison of the studies in `results`; with `output` also write it there.

    Raises:
        UsageError: a journal cannot be read, or one was named twice.
        ScalingError: something cannot be written.
    """
    found = [read(path, console) for path in results]
    paths = [study.path.resolve() for study in found if study.path]
    if len(set(paths)) < len(paths):
        raise UsageError("a study was named twice; it cannot be compared with itself")
    studies = dict(zip(_names(found), found, strict=True))
    document = Document(
        " and ".join(studies),
        NOTHING if _is_alone(studies) else "",
        warnings=list(_warnings(studies)),
        answer=list(_grids(studies)),
        notes=list(_notes(studies)),
    )
    for text in document.warnings:
        console.print(Text(text))
    for grid in document.answer:
        console.print(table(grid, console))
        console.print()
    for text in filter(None, (document.sentence, *document.notes)):
        console.print(Text(text))
    if output is not None:
        write_text(output / FILE_NAME, markdown(document), AGAIN)
        say(console, f"written: {output / FILE_NAME}")
    for study in found:
        say_incomplete(study, console)


def _is_alone(studies: Mapping[str, Study]) -> bool:
    """Whether it is one study in which nothing is compared."""
    (first, *others) = studies.values()
    return not others and not any(list(each.grids(first)) for each in RATIOS)


def _warnings(studies: Mapping[str, Study]) -> Iterator[str]:
    """Warnings of studies that are simulated, scaled down, or not to be trusted."""
    yield from filter(None, dict.fromkeys(map(warnings, studies.values())))
    for name, study in studies.items():
        if study.soundness.status in ("void", "undecided"):
            yield f"{name}: {study.soundness.text}"


def _notes(studies: Mapping[str, Study]) -> Iterator[str]:
    """Other differences of studies that are compared with the first."""
    if _are_machines(studies) or _are_programs(studies):
        return
    (_, first), *later = studies.items()
    for name, study in later:
        yield from (
            f"{name}: {text}" if len(later) > 1 else text for text in about_two(study, first)
        )


def _grids(studies: Mapping[str, Study]) -> Iterator[Grid]:
    first, *later = studies.values()
    if _are_machines(studies):
        yield from MACHINES.grids(first, conclusions(studies))
    elif _are_programs(studies):
        yield from PROGRAMS.grids(first, programs(studies))
    elif later:
        for study in later:
            yield from CHANGES.grids(study, across(study, first))
    else:
        for each in RATIOS:
            yield from each.grids(first)


def _are_machines(studies: Mapping[str, Study]) -> bool:
    return 1 < len(studies) == len({each.line.machine.id for each in studies.values()})


def _are_programs(studies: Mapping[str, Study]) -> bool:
    """Whether each study is of another application."""
    names = {application_of(each) for each in studies.values()}
    return "" not in names and len(names) > 1


def application_of(study: Study) -> str:
    """The application of a study, `package.module:name`; empty of anything else."""
    return str(study.cells["cell"].iloc[0].parameters.get("application", ""))


def _names(studies: Sequence[Study]) -> list[str]:
    """Names of the studies: those of their folders, with the parents' where two are the same.

    A number follows where that is the same, too.
    """
    folders = [study.path.resolve().parent if study.path else Path() for study in studies]
    short = [folder.name or each.line.name for folder, each in zip(folders, studies, strict=True)]
    names: list[str] = []
    for folder, name in zip(folders, short, strict=True):
        longer = name if short.count(name) == 1 else f"{folder.parent.name}-{name}"
        same = sum(each == longer or each.startswith(f"{longer} #") for each in names)
        names.append(f"{longer} #{same + 1}" if same else longer)
    return names


# --------------------------------------------------------------------------------- several machines


def finish_several(folders: Mapping[str, Path], console: Console) -> None:
    """End a run on several machines, by label: write each one's files, then compare them.

    Raises:
        ScalingError: a machine has no valid run of a workload, or something cannot be written.
    """
    quiet = new_console(quiet=True)
    machines, lacking = {}, []
    for label, folder in folders.items():
        try:
            study = read(folder, quiet)
        except UsageError as error:
            say(console, f"{label}: {error}")
            continue
        if without := without_figure(study):
            say(console, f"{label}: {without}; see {folder}")
            lacking.append(label)
        if study.runs["valid"].any():
            write_all(study, folder)
            machines[label] = study
    if not machines:
        raise ScalingError("no host has a valid run, so there is no figure")
    grids = list(MACHINES.grids(next(iter(machines.values())), conclusions(machines)))
    about = [f"{label}: {machine_text(each.line.machine)}" for label, each in machines.items()]
    document = Document("One study on several machines", "", about=about, answer=grids)
    for grid in grids:
        console.print(table(grid, console))
    above = next(iter(folders.values())).parent
    write_text(above / MACHINES_FILE, markdown(document), AGAIN)
    write_text(above / PAGE, html(document), AGAIN)
    say(console, f"page:   {above / PAGE}\ntables: {above / MACHINES_FILE}")
    if lacking:
        raise ScalingError(f"on {listed(lacking)} no run of a workload is valid; see above")
