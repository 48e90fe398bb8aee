"""What freed the speed of threads: the headline ratio of a version, and the factor of each step."""

from collections.abc import Iterator
from itertools import groupby

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.ladder import Ladder, ladders
from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import workers
from scaling.report.tables.questions.question import Question

NOT_THE_PRODUCT = "! The medians do not multiply to the whole ratio: factors vary between blocks."


def ladder_grids(compared: Compared) -> list[Grid]:
    """One table for ladders that have the same rungs."""

    def rungs(ladder: Ladder) -> list[str]:
        return [cell.arm for cell in ladder.cells]

    return [_grid(names, list(group)) for names, group in groupby(ladders(compared), rungs)]


def _grid(names: list[str], alike: list[Ladder]) -> Grid:
    headings = ["N", f"{names[-1]} over {names[0]}"]
    steps = [step.name for step in alike[0].steps]
    title = f"What freed the speed of threads: {' → '.join(names)}"
    if len(steps) > 1:
        headings += [f"= {steps[0]}", *(f"× {name}" for name in steps[1:]), "product"]
    else:
        title += f" ({steps[0]})"
    rows: list[list[Cell]] = []
    for ladder in alike:
        product = formats.number(ladder.product) + ("" if ladder.multiplies_out else " !")
        whole: list[Cell] = [*ladder.steps, product] if len(ladder.steps) > 1 else []
        rows.append([str(ladder.workers), ladder.headline, *whole])
    note = "" if all(ladder.multiplies_out for ladder in alike) else NOT_THE_PRODUCT
    return Grid(title, headings, rows, note=note)


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    return ladder_grids(compared)


def _findings(compared: Compared) -> list[Finding]:
    n = compared.headline_n
    return [each for ladder in ladders(compared) if ladder.workers == n for each in _of_one(ladder)]


def _of_one(ladder: Ladder) -> Iterator[Finding]:
    top, bottom = ladder.top, ladder.bottom
    notes = []
    if ladder.missing:
        notes.append(f"Without {formats.listed(ladder.missing)} the steps cannot be separated.")
    if not ladder.multiplies_out:
        notes.append(
            f"The medians of the steps multiply to {formats.number(ladder.product)}, outside the "
            "bounds of the whole ratio: the steps vary between blocks."
        )
    changed = f" ({ladder.steps[0].name})" if len(ladder.steps) == 1 else ""
    question = f"{workers(top)} on {top.arm} over as many on {bottom.arm}{changed}"
    yield Finding(question, ladder.headline, " ".join(notes))
    if len(ladder.steps) > 1:
        for step in ladder.steps:
            steps = f"{step.over.arm} → {step.of.arm}"
            yield Finding(f"… of that, {step.name} ({steps})", step)


QUESTION = Question("ladder", _grids, _findings)
