"""What a table compares: cells of one section, on one loop or across all loops, with their ratios.

Where several ratios answer one question, they are put together here: the steps between the builds
of one version, the versions of Python, threads at each N over one process.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.blocks import Blocks
from scaling.analysis.curves import Curve, MemoryKind, Point
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.sections import Section
from scaling.base.vocabulary import THREADS
from scaling.builds.arms import VersionArms, rising, version_arms
from scaling.builds.runtimes import RUNTIMES
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
            self.blocks.strongest(self.group.processes(with_gil, n), THROUGHPUT)
            or self.blocks.strongest(self.group.processes(python, n), THROUGHPUT)
            for n in self.workers
        )
        return [cell for cell in found if cell is not None]

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


# ------------------------------------------------------------------------------------------- ladder
# What freed the speed: the headline ratio of a version with its steps, as one thing to show.
#
# The ratios and their rule are in `scaling.study.questions.ladder`. In each block the factors
# multiply to the headline exactly; their medians need not, and `multiplies_out` says whether they
# do.

ROUNDING = 1e-9  # relative: what multiplying and dividing floats loses, and more


@dataclass(frozen=True, slots=True)
class Ladder:
    """All steps at one N, from the blocks in which every rung was valid.

    `missing` are the rungs between the ends that were not measured, or in too few blocks.
    """

    headline: Ratio
    steps: list[Ratio]
    missing: list[str]

    @property
    def workers(self) -> int:
        """N."""
        return self.headline.of.workers

    @property
    def bottom(self) -> Cell:
        """The rung that the headline is over."""
        return self.headline.over

    @property
    def top(self) -> Cell:
        """The rung that the headline is of."""
        return self.headline.of

    @property
    def cells(self) -> list[Cell]:
        """Every rung measured, from the bottom."""
        return [self.bottom, *(step.of for step in self.steps)]

    @property
    def product(self) -> float:
        """The medians of the factors, multiplied."""
        return math.prod(step.point for step in self.steps)

    @property
    def multiplies_out(self) -> bool:
        """Whether `product` lies within the headline's interval (or range)."""
        whole = self.headline
        return whole.low * (1 - ROUNDING) <= self.product <= whole.high * (1 + ROUNDING)


def ladders(compared: Compared) -> list[Ladder]:
    """The ladder of every version at every N that has two rungs of it or more; none at a rate."""
    return [_ladder(each, compared) for each in compared.ratios.where("headline")]


def _ladder(headline: Ratio, compared: Compared) -> Ladder:
    steps = list(_steps(headline, compared))
    rungs = {step.of.arm for step in steps} | {headline.over.arm}
    (version,) = version_arms([headline.of.arm])
    first, last = (version.rungs.index(each.arm) for each in (headline.over, headline.of))
    return Ladder(headline, steps, [a for a in version.rungs[first:last] if a not in rungs])


def _steps(headline: Ratio, compared: Compared) -> Iterator[Ratio]:
    """From the bottom rung to the top one, each beginning where the one before it ended."""
    after = {each.over: each for each in compared.ratios.where("step")}
    at = headline.over
    while at != headline.of:
        step = after[at]
        yield step
        at = step.of


# ------------------------------------------------------------------------------------ version lines
# What each build of each version of Python costs, and what more loops gain on it.
#
# Two lines over the versions, with the GIL and without: throughput at N = 1 over that of the oldest
# build, and throughput at N over that at N = 1, both block by block.

FEWEST_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class VersionPoint:
    """One build. `cost` and `gain` are ratios of throughput, shape (blocks,), NaN for no value."""

    version: str
    arm: str
    cost: Floats
    gain: Floats


@dataclass(frozen=True, slots=True)
class VersionLines:
    """The builds of one section and loop, oldest version first.

    `oldest` is the arm that `cost` is over, with the GIL if any was measured; `workers` is the N of
    `gain`, which has no values where that is 1.
    """

    compared: Compared
    oldest: str
    workers: int
    with_gil: list[VersionPoint]
    free: list[VersionPoint]

    @property
    def points(self) -> list[VersionPoint]:
        """All builds, those with the GIL first."""
        return [*self.with_gil, *self.free]


def version_lines(runs: Compared) -> VersionLines | None:
    """The lines of a section; None where fewer than two versions ran at N = 1."""
    versions = rising(each.version for each in version_arms(runs.arms))
    arms = [(version, version) for version in versions]
    free = [(version, VersionArms(version).free) for version in versions]
    measured = runs.measured(runs.cell(arm, THREADS, 1) for _, arm in (*arms, *free))
    if not measured:
        return None
    oldest, n = measured[0], runs.headline_n

    def points(builds: list[tuple[str, str]]) -> list[VersionPoint]:
        found = []
        for version, arm in builds:
            alone, together = runs.cell(arm, THREADS, 1), runs.cell(arm, THREADS, n)
            if alone in measured:
                cost = runs.blocks.ratio(alone, oldest, THROUGHPUT).values
                gain = runs.blocks.ratio(together, alone, THROUGHPUT).values
                gain = gain if n > 1 else np.full_like(gain, np.nan)
                found.append(VersionPoint(version, arm, cost, gain))
        return found

    lines = VersionLines(runs, oldest.arm, n, points(arms), points(free))
    return lines if len({point.version for point in lines.points}) >= FEWEST_VERSIONS else None


# --------------------------------------------------------------------------------------- break even
# Break-even: the smallest N at which free-threaded threads beat the best single GIL process.
#
# They do where the verdict is `faster` (`scaling.study.questions.break_even`).


def break_evens(compared: Compared) -> list[list[Ratio]]:
    """Threads of an arm at each N over the same single worker, N ascending: one list for every
    version that has threads without the GIL and a single worker with it.
    """
    asked = compared.ratios.where("break-even")
    return [list(few) for _, few in groupby(asked, key=lambda each: each.of.arm)]


def break_even(ratios: Iterable[Ratio]) -> Ratio | None:
    """That at the smallest N at which threads are faster."""
    return next((each for each in ratios if each.verdict.side > 0), None)
