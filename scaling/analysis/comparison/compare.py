"""The cells that one table compares, on one loop or across all loops, and the ratios of these."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from scaling.analysis.arrays import Floats
from scaling.analysis.blocks import Blocks
from scaling.analysis.curves import Curve, MemoryKind, Point
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.sections import Section
from scaling.base.vocabulary import PROCESSES
from scaling.builds.arms import version_arms
from scaling.builds.runtimes.runtime import RUNTIMES
from scaling.journal.record import Cell
from scaling.study.questions import CPU, OVER_PROCESSES, THROUGHPUT, Group, groups, section_of

ACROSS_LOOPS = ("loop", "runtime")


@dataclass(frozen=True, slots=True)
class OverProcesses:
    """Threads or interpreters over as many processes: the ratios of one cell, side by side.

    Each is over the processes that are best at its measure; memory over fresh and over forked ones.
    """

    of: Cell
    throughput: Ratio
    cpu: Ratio | None
    memory: list[Ratio]


@dataclass(frozen=True, eq=False)
class Compared:
    """The cells of one section on one loop with their ratios; lists may be empty.

    `loop` is empty where it is across all loops of the section: then the ratios are those of loops
    and runtimes, else all others.
    """

    section: Section
    loop: str
    curves: Sequence[Curve]
    blocks: Blocks
    group: Group
    ratios: Ratios

    @property
    def title(self) -> str:
        """What it is about: workload, sizing and loop."""
        return f"{self.section.title} · {self.loop}" if self.loop else self.section.title

    @property
    def is_across_loops(self) -> bool:
        """Whether it is of the runs on all loops of its section."""
        return not self.loop

    @property
    def compares(self) -> bool:
        """Whether there is more than one curve to compare; else there are gains alone."""
        return len(self.curves) > 1

    @property
    def arms(self) -> list[str]:
        """The arms, in the study's order."""
        return self.group.arms

    @property
    def models(self) -> list[str]:
        """The models, in the section's order."""
        return list(dict.fromkeys(curve.key.model for curve in self.curves))

    @property
    def memory_kind(self) -> MemoryKind:
        """Which reading of memory is compared."""
        return self.curves[0].memory_kind

    @property
    def workers(self) -> list[int]:
        """Every N that has a run, ascending."""
        return self.group.workers

    @cached_property
    def headline_n(self) -> int:
        """The headline N: the largest with a core for each worker."""
        return self.group.headline_n

    def cell(self, arm: str, model: str, workers: int) -> Cell:
        """A cell of this section and loop, whether or not it was measured."""
        return self.group.cell(arm, model, workers)

    def of(self, cell: Cell, measure: str) -> Floats:
        """The values of a measure of a cell, shape (blocks,), NaN for none."""
        return self.blocks.series(cell, measure).values

    def measured(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of some cells that have a valid run."""
        return self.blocks.measured(cells)

    def point(self, cell: Cell) -> Point | None:
        """A cell's point on its curve; None where it was not run."""
        key = cell.but(workers=0)
        return next((each.at(cell.workers) for each in self.curves if each.key == key), None)

    @property
    def headline_gains(self) -> list[Ratio]:
        """The gain of each curve that the study is about, at its headline N."""
        return list(self.ratios.where("gain", keep=lambda each: each.is_headline))

    @cached_property
    def over_processes(self) -> list[OverProcesses]:
        """Threads and interpreters over as many processes; none in an open loop."""
        if self.section.rate_per_s is not None:
            return []
        found = []
        for each in self.ratios.where(OVER_PROCESSES, THROUGHPUT):
            beside = [one for one in self.ratios.where(OVER_PROCESSES) if one.of == each.of]
            cpu = next((one for one in beside if one.measure == CPU), None)
            memory = [one for one in beside if one.memory_kind]
            found.append(OverProcesses(each.of, each, cpu, memory))
        return found

    @property
    def ceiling(self) -> list[Cell]:
        """At each N the fastest processes of an arm with the GIL, of any version; else of any
        Python. Another runtime is no ceiling: nobody can ship their code on it.
        """
        python = [arm for arm in self.arms if arm not in RUNTIMES]
        with_gil = [arm for version in version_arms(self.arms) for arm in version.with_gil]
        found = (
            self.blocks.strongest(self._processes(with_gil, n), THROUGHPUT)
            or self.blocks.strongest(self._processes(python, n), THROUGHPUT)
            for n in self.workers
        )
        return [cell for cell in found if cell is not None]

    def _processes(self, arms: Iterable[str], n: int) -> list[Cell]:
        return [self.cell(arm, model, n) for arm in arms for model in PROCESSES]

    @property
    def across_states(self) -> list[tuple[Cell, Cell]]:
        """The pairs of cells that ran in different allocator states, each once.

        Their ratio includes that difference, which must be shown beside it.
        """
        compared = self.ratios.where(keep=lambda each: each.question != "gain")
        pairs = dict.fromkeys((ratio.of, ratio.over) for ratio in compared)
        return [pair for pair in pairs if len(set(filter(None, map(self.state, pair)))) > 1]

    def state(self, cell: Cell) -> str | None:
        """The allocator state of a cell's runs, as `Point.allocator_state` has it."""
        point = self.point(cell)
        return point.allocator_state if point else None


def compare(sections: Iterable[Section], blocks: Blocks, ratios: Ratios) -> list[Compared]:
    """One for each section and loop, and after those of a section one across its loops where there
    is something to compare.
    """
    of_section = {
        key: list(several)
        for key, several in groupby(groups(blocks), key=lambda each: section_of(each.first))
    }
    found = []
    for section in sections:
        curves = section.curves
        on_loops = of_section.get(section_of(curves[0].key), [])
        for group in on_loops:
            loop = group.first.loop
            own = [curve for curve in curves if curve.key.loop == loop]
            found.append(Compared(section, loop, own, blocks, group, _of(group, ratios)))
        if len(on_loops) > 1 and section.rate_per_s is None:
            every = Group(blocks, [cell for group in on_loops for cell in group.cells])
            across = _of(every, ratios, across_loops=True)
            if across:
                found.append(Compared(section, "", curves, blocks, every, across))
    return found


def _of(group: Group, ratios: Ratios, *, across_loops: bool = False) -> Ratios:
    """The ratios that a group of cells answers."""
    cells = set(group.cells)
    return ratios.where(
        keep=lambda each: each.of in cells and (each.question in ACROSS_LOOPS) == across_loops
    )
