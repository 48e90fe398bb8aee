"""The cells that questions are asked of, by section (the cells of one table) and by curve.

A `Scope` has the cells of a plan, or the measured ones.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, product
from typing import Protocol

from msgspec.structs import replace

from scaling.base.models import PROCESSES, is_mixed, parts_of
from scaling.builds.arms import VersionArms, version_arms
from scaling.journal.record import Cell, Parameters, Region
from scaling.study.load import RATE, open_loop_rate


class Scope(Protocol):
    """The cells that questions are asked of, in the order in which a study shows them."""

    @property
    def cells(self) -> Sequence[Cell]:
        """All of them, measured or not."""

    @property
    def objectives(self) -> Sequence[str]:
        """The latency objectives that the study states, such as `p99<20ms`."""

    def region(self, cell: Cell) -> Region | None:
        """The region of the machine that the workers of a cell fit on."""

    def measured(self, cells: Iterable[Cell], measure: str = ...) -> list[Cell]:
        """Those of some cells that have a value of the measure; by default of throughput."""

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Return True if a cell has values in enough of the blocks that both `ends` have."""


def section_of(cell: Cell) -> Cell:
    """The common part of the cells of one table: workload, parameters and sizing."""
    return replace(cell, loop="", arm="", model="", workers=0)


def curve_of(cell: Cell) -> Cell:
    """The common part of the cells of one curve: all but N."""
    return replace(cell, workers=0)


def ones_of(cell: Cell) -> list[Cell]:
    """The cells of one worker on a curve; of a mixed model those of a thread and of a process."""
    return [replace(cell, workers=1, model=model) for model in parts_of(cell.model)]


def without(cell: Cell, parameter: str) -> Cell:
    """The cell without one of its parameters."""
    return replace(cell, parameters=Parameters.of(cell.parameters).without(parameter))


def without_rate(cell: Cell) -> Cell:
    """The cell without its rate: capacity is one figure of all rates."""
    return without(cell, RATE)


def subject_of(cell: Cell) -> Cell:
    """The common part of cells at several rates: workload, other parameters, sizing and loop."""
    return replace(section_of(without_rate(cell)), loop=cell.loop)


class Section:
    """The cells of one section and loop."""

    def __init__(self, scope: Scope, cells: Sequence[Cell]) -> None:
        self.scope = scope
        self.cells = cells
        self.first = cells[0]
        self.arms = list(dict.fromkeys(cell.arm for cell in cells))
        self.models = list(dict.fromkeys(cell.model for cell in cells))
        self.workers = sorted({cell.workers for cell in cells})
        self.versions = version_arms(self.arms)
        self.curves = [list(curve) for _, curve in groupby(cells, key=curve_of)]  # N ascending
        self.is_open_loop = open_loop_rate(self.first.parameters) is not None

    @property
    def headline_n(self) -> int:
        """The largest N with a core for each worker, else the largest."""
        on_cores = [each.workers for each in self.cells if self.scope.region(each) == "cores"]
        return max(on_cores, default=max(self.workers))

    def cell(self, arm: str, model: str, workers: int) -> Cell:
        """A cell of this section and loop, whether or not it was measured."""
        return replace(self.first, arm=arm, model=model, workers=workers)

    def challengers(self, version: VersionArms) -> list[tuple[str, str]]:
        """Arm and model of the cells that are compared with processes."""
        mixed = [model for model in self.models if is_mixed(model)]
        return [*version.challengers, *product(version.rungs, mixed)]

    def rivals(self, version: VersionArms, ours: Cell) -> tuple[Cell, ...]:
        """The measured processes, fresh and forked, that a cell may be compared with.

        They are on the arms with the GIL, or on the cell's own arm if no such process was measured.
        """

        def processes(arms: Iterable[str]) -> list[Cell]:
            cells = [self.cell(arm, model, ours.workers) for arm in arms for model in PROCESSES]
            return self.scope.measured(cells)

        return tuple(processes(version.with_gil) or processes([ours.arm]))


def sections(scope: Scope) -> list[Section]:
    """The cells by section and loop, in the study's order."""
    return [
        Section(scope, list(cells))
        for _, cells in groupby(scope.cells, key=lambda each: (section_of(each), each.loop))
    ]
