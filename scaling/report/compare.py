"""`scaling compare`: tables of several studies, several machines, or several programs.

Later studies are compared with the first, cell by cell. Studies of different machines, and studies
of different applications, are shown side by side instead. Only journals are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from scaling.analysis.tables.across import across, alone, common, differences_of, is_backwards
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed, plural
from scaling.journal.protected_write import write_text
from scaling.report.files import REPORT, read, say_incomplete, write_all
from scaling.report.output import without_figure
from scaling.report.render.document import Document, html, markdown
from scaling.report.render.grid import Grid, Heading
from scaling.report.render.terminal import print_document
from scaling.report.view.application import shipped
from scaling.report.view.declare import RATIO, Table, fact
from scaling.report.view.notes import machine_text, warnings
from scaling.report.view.tables import OF, RATIOS
from scaling.study.questions import P99, THROUGHPUT

FILE_NAME, MACHINES_FILE = "comparison.md", "machines.md"
AGAIN = "scaling compare"
NOTHING = "Nothing to compare: the study has one arm, one model and one loop."

# -------------------------------------------------------------------------------------- two studies

CHANGES = Table(
    "What changed: RESULTS over OLD",
    rows=OF | {"measure": ("measure",)},
    columns=(*RATIO, fact(Heading("blocks to\ndecide"), "blocks_to_decide")),
)


def about_two(now: Study, then: Study) -> Iterator[str]:
    """Other differences of two studies, which may be the cause of a ratio."""
    yield "The studies were not measured side by side: the ratios include changes of the machine."
    if is_backwards(now, then):
        yield "OLD was started after RESULTS: are the two swapped?"
    if differences := differences_of(now, then):
        yield f"Not the same in both: {'; '.join(differences)}."
    for one, other, absent in (
        (now, then, "Only in RESULTS, and not compared"),
        (then, now, "Only in OLD, and not compared"),
    ):
        if count := alone(one, other):
            yield f"{absent}: {plural(count, 'cell')}."
    both = zip((now, then), common(now, then), strict=True)
    ours, theirs = (_facts(study, places) for study, places in both)
    differ = (ours != theirs) & ours.notna() & theirs.notna()
    if differ["memory"].any():
        yield "Memory is not compared where one study has PSS and the other RSS."
    if count := int(differ["state"].sum()):
        yield f"In another allocator state than in OLD: {plural(count, 'cell')}."


def _facts(study: Study, places: list[int]) -> pd.DataFrame:
    """The kind of memory of some cells, and their allocator states."""
    facts = {"memory": memory_kinds(study.measures), "state": study.cells["allocator_state"]}
    return pd.DataFrame(facts, dtype=object).loc[places].reset_index(drop=True)


PLACE = ["question", "measure", "step", "name", "loop", "arm", "model", "workers"]


def conclusions(studies: Mapping[str, Study]) -> pd.DataFrame:
    """The headline ratios of throughput, or of P99, on each machine, and whether they agree.

    Machines are not averaged. A word holds everywhere by an intersection–union test (R. L. Berger,
    Technometrics 24 (1982)): each machine must show it at the level of a single test.
    """
    parts = [each.ratios.assign(study=name) for name, each in studies.items()]
    ratios = pd.concat(parts, ignore_index=True)
    asked = ratios[ratios["main"] & ~ratios["control"] & ratios["measure"].isin([THROUGHPUT, P99])]
    together = asked.groupby(PLACE, sort=False, dropna=False)
    holds = together["word"].transform(lambda words: _holds(words, len(studies)))
    return asked.assign(holds=holds, place=together.ngroup()).sort_values("place", kind="stable")


def _holds(words: "pd.Series[str]", machines: int) -> str:
    """`everywhere` if all machines agree, `not everywhere` if two differ, else `undecided`."""
    said = {word if word == SAME else side_of(word) for word in words}
    if len(said - {0}) > 1:
        return "not everywhere"
    return "undecided" if 0 in said or len(words) < machines else "everywhere"


MACHINES = Table(
    "Every machine's own ratio, and whether they agree",
    rows={"": tuple(PLACE), "machine": ("study",)},
    columns=(*RATIO, fact(Heading("holds", left=True), "holds")),
)


def programs(studies: Mapping[str, Study]) -> pd.DataFrame:
    """The configuration of each program to ship, a row for each aim."""
    parts = [shipped(each).assign(program=name) for name, each in studies.items()]
    return pd.concat(parts, ignore_index=True)


PROGRAMS = Table(
    "Programs side by side: N threads over the best processes",
    rows={"program": ("program",), "": ("aim",), "N": ("workers",)},
    columns=(*RATIO, fact(Heading("ship", left=True), "ship")),
)


# ---------------------------------------------------------------------------------------- command


def compare(results: Sequence[Path], output: Path | None, console: Console) -> None:
    """Print the comparison of the studies in `results`; with `output` also write it there.

    Raises:
        UsageError: a journal cannot be read, or one was named twice.
        ScalingError: something cannot be written.
    """
    found = [read(path, console) for path in results]
    paths = [study.path.resolve() for study in found if study.path]
    if len(set(paths)) < len(paths):
        raise UsageError("a study is named twice: name different studies")
    studies = dict(zip(_names(found), found, strict=True))
    grids, notes = _compared(studies)
    document = Document(
        " and ".join(studies),
        "" if grids or len(studies) > 1 else NOTHING,
        warnings=list(_warnings(studies)),
        answer=grids,
        notes=notes,
    )
    print_document(document, console)
    if output is not None:
        write_text(output / FILE_NAME, markdown(document), AGAIN)
        say(console, f"written: {output / FILE_NAME}")
    for study in found:
        say_incomplete(study, console)


def _warnings(studies: Mapping[str, Study]) -> Iterator[str]:
    """Warnings of studies that are simulated, scaled down, or not to be trusted."""
    yield from filter(None, dict.fromkeys(map(warnings, studies.values())))
    for name, study in studies.items():
        if study.soundness.status in ("void", "undecided"):
            yield f"{name}: {study.soundness.text}"


def _compared(studies: Mapping[str, Study]) -> tuple[list[Grid], list[str]]:
    """Tables of the studies, and other differences of those that are compared with the first."""
    (_, first), *later = studies.items()
    if _are_machines(studies):
        return list(MACHINES.grids(first, conclusions(studies))), []
    if _are_programs(studies):
        return list(PROGRAMS.grids(first, programs(studies))), []
    if not later:
        return [grid for each in RATIOS for grid in each.grids(first)], []
    grids = [grid for _, each in later for grid in CHANGES.grids(each, across(each, first))]
    names = [f"{name}: " if len(later) > 1 else "" for name, _ in later]
    notes = [
        f"{name}{text}"
        for name, (_, each) in zip(names, later, strict=True)
        for text in about_two(each, first)
    ]
    return grids, notes


def _are_machines(studies: Mapping[str, Study]) -> bool:
    return 1 < len(studies) == len({each.line.machine.id for each in studies.values()})


def _are_programs(studies: Mapping[str, Study]) -> bool:
    """Return True if each study is of another application."""
    cells = (each.cells["cell"].iloc[0] for each in studies.values())
    names = {cell.parameters.get("application", "") for cell in cells}
    return "" not in names and len(names) > 1


def _names(studies: Sequence[Study]) -> list[str]:
    """Names of the studies: their folders, with the parent folder and a number where needed."""
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
    """End a run on several machines: write the files of each `folders[label]`, then compare them.

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
    about = [f"{label}: {machine_text(each.line.machine)}" for label, each in machines.items()]
    grids = list(MACHINES.grids(None, conclusions(machines)))
    document = Document("One study on several machines", "", about=about, answer=grids)
    print_document(document, console)
    above = next(iter(folders.values())).parent
    write_text(above / MACHINES_FILE, markdown(document), AGAIN)
    write_text(above / REPORT, html(document), AGAIN)
    say(console, f"page:   {above / REPORT}\ntables: {above / MACHINES_FILE}")
    if lacking:
        raise ScalingError(f"on {listed(lacking)} no run of a workload is valid; see above")
