"""One block: which cells are in it twice, and the order of its runs.

Blocks are complete, each shuffled by the study's seed and nothing else. The noise of neighbouring
runs correlates by 0.3 to 0.4 in published journals, and that of runs 16 places apart hardly at all,
so cells whose ratio is taken stand close together: the shuffle is nested. Workloads come in random
order, inside a workload its parameters and sizing, inside those its loops, inside a loop its Ns,
and inside an N its arms and models.

The second run of an A/A pair is shuffled like an N of its own. The two then stand as far apart as
the runs of a gain, and differ by as much where the machine changes inside a block. Beside its cell
a pair scattered by 1 to 9 % less than a gain with the noise of the published journals, and by a
third less where all noise was the machine's (simulated).

Where cells are measured in turn (`scaling.study.plan.groups`), the workloads come in random order,
inside a workload its groups, and inside a group its cells.
"""

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

from msgspec.structs import replace

from scaling.base.models import PROCESSES, THREADS
from scaling.builds.arms import parse_arm
from scaling.journal.record import Cell, Key, ParameterValue, Region
from scaling.study.load import RATE, is_open_loop, middle

# One of these stands in each journal (`StudyLine.order`); a changed order takes the next number.
ORDER = 3
IN_GROUPS = 4  # the cells of a group, which are measured in turn, one after the other


class Slot(NamedTuple):
    """A place in every block: a cell, and which of its runs (1: the second of an A/A pair)."""

    cell: Cell
    repeat: int = 0


type Levels = Sequence[Callable[[Slot], Hashable]]
type RegionOf = Callable[[int], Region | None]  # where so many workers fit on the machine

LEVELS: Levels = (
    lambda slot: slot.cell.workload,
    lambda slot: (slot.cell.parameters, slot.cell.sizing),
    lambda slot: slot.cell.loop,
    lambda slot: (slot.cell.workers, slot.repeat),
)


class PlannedRun(NamedTuple):
    """One run to do: `position` counts from 0 within its block, `attempt` from 1."""

    block: int
    position: int
    cell: Cell
    repeat: int = 0
    attempt: int = 1

    @property
    def slot(self) -> Slot:
        """Its place in every block."""
        return Slot(self.cell, self.repeat)

    @property
    def key(self) -> Key:
        """What its line in the journal is known by (`RunLine.key`)."""
        return self.block, self.cell, self.repeat

    def at(self, attempt: int) -> Self:
        """The same run at another attempt."""
        return self._replace(attempt=attempt)


def hash_seed(seed: int, block: int) -> int:
    """One hash seed per block of a study with that seed, for `PYTHONHASHSEED`.

    Pairs inside a block hash alike, and blocks sample the seeds.
    """
    return (seed * 1_000_003 + block) % 2**32


def one_block(
    slots: Iterable[Slot],
    block: int,
    seed: int,
    groups: Iterable[Collection[Slot]] = (),
    levels: Levels = LEVELS,
) -> Iterator[PlannedRun]:
    """Every slot once, in the order of this block; those of each of the `groups` stand together.

    The order depends on the seed, the block and the slots alone, not on how many blocks there are.
    Slots that are alike at the first of the `levels` stand together, and so on level by level.
    """
    # Seeding by text and `random()` itself are the two parts of the module that Python promises to
    # keep as they are; `shuffle` and `sample` are not.
    source = random.Random(f"{seed}:{block}")
    if number := {slot: place for place, group in enumerate(groups) for slot in group}:
        levels = (levels[0], number.__getitem__)
    for position, slot in enumerate(_shuffled(list(slots), levels, source)):
        yield PlannedRun(block, position, *slot)


def _shuffled(slots: Sequence[Slot], levels: Levels, source: random.Random) -> list[Slot]:
    """The slots, those alike at the first level together, and so on level by level."""
    if not levels:
        return sorted(slots, key=lambda _: source.random())
    groups: dict[Hashable, list[Slot]] = {}
    for slot in slots:
        groups.setdefault(levels[0](slot), []).append(slot)
    inside = [_shuffled(group, levels[1:], source) for group in groups.values()]
    return [slot for group in sorted(inside, key=lambda _: source.random()) for slot in group]


# ---------------------------------------------------------------------------------------- A/A pairs
# Cells that are measured twice in a block, which shows how much equal cells differ.
#
# Nothing distinguishes the second of a pair but its label in the journal (`RunLine.repeat`): the
# child gets the same document, the live line says the same words, and it has a place of its own in
# the random order of every block.
#
# Where cells take turns, both runs of a pair do, so it shows the noise of ratios in turn. The runs
# of a gain have different N, are in different groups, and differ by more. So of a workload whose
# pairs would all be in turn one is not: its runs stand as far apart as those of the gain.

FEWEST_ALIKE = 8  # so many cells get a pair of their own, which adds an eighth to their number


class Pair(NamedTuple):
    """An A/A pair: a cell that is run twice, and the one in whose group its second run belongs.

    The `added` ones are beside those that each workload has.
    """

    cell: Cell
    beside: Cell
    added: bool = False


def aa_pairs(cells: Sequence[Cell], in_turn: Collection[Cell], region: RegionOf) -> list[Pair]:
    """The A/A pairs of these cells, of which those `in_turn` take turns with cells of as many
    workers; the added ones last.

    The second run of a pair belongs beside the first. Of a workload whose pairs would all be in
    turn, and which has a gain, one belongs beside the other end of a gain: that of the cell with
    the fewest workers on the curve of its first pair. It takes the place of the first pair where
    the workload has another one in turn; without one, the study has one more.
    """
    workloads: dict[str, list[Cell]] = {}
    for cell in repeated(cells, region):
        workloads.setdefault(cell.workload, []).append(cell)
    found: list[Pair] = []
    for own in workloads.values():
        pairs = [Pair(cell, cell) for cell in own]
        (curve,) = (each for each in _curves(cells) if own[0] in each)
        fewest = min(curve, key=lambda cell: cell.workers)
        if fewest.workers < own[0].workers and {fewest, *own} <= set(in_turn):
            is_only = len(own) == 1
            gain = Pair(fewest, own[0], added=is_only)
            pairs = [*pairs, gain] if is_only else [gain, *pairs[1:]]
        found += pairs
    return sorted(found, key=lambda pair: pair.added)


def repeated(cells: Iterable[Cell], region: RegionOf) -> list[Cell]:
    """The cells that are run twice in a block, in the order of their workloads.

    Each workload has a pair; one in a closed loop and one in an open loop, at the middle one of its
    rates, if it has both. Each set of parameters with many cells has one, too: how much equal runs
    differ depends on them. Those are of threads without the GIL, which the figures are about. What
    they are compared with is checked, too: each workload has a pair of its strongest processes.
    """
    workloads: dict[str, list[Cell]] = {}
    for cell in cells:
        workloads.setdefault(cell.workload, []).append(cell)
    return list(chain.from_iterable(_of_workload(own, region) for own in workloads.values()))


def _of_workload(cells: Sequence[Cell], region: RegionOf) -> Iterator[Cell]:
    closed = [cell for cell in cells if not is_open_loop(cell.parameters)]
    opened = [cell for cell in cells if is_open_loop(cell.parameters)]
    rate = middle([cell.parameters[RATE] for cell in opened]) if opened else None
    at_middle = [cell for cell in opened if cell.parameters[RATE] == rate]
    chosen = [_repeated(loaded, region) for loaded in (closed, at_middle) if loaded]
    yield from chosen
    processes = _strongest(closed or at_middle, region)
    if processes is not None and processes not in chosen:
        yield processes
    variants: dict[Mapping[str, ParameterValue], list[Cell]] = {}
    for cell in cells:
        variants.setdefault(cell.parameters, []).append(cell)
    for cell in chosen:
        del variants[cell.parameters]
    for alike in variants.values():
        if len(alike) >= FEWEST_ALIKE:
            yield _repeated(alike, region)


def _repeated(cells: Sequence[Cell], region: RegionOf) -> Cell:
    """The cell to repeat, at the largest N with a core for each worker.

    It is one of the first curve of threads without the GIL, or of the first curve: equal runs of
    threads that contend for a GIL differ more.
    """
    curves = _curves(cells)
    without_gil = (
        curve
        for curve in curves
        if curve[0].model == THREADS and parse_arm(curve[0].arm).without_gil
    )
    return _at_largest(next(without_gil, curves[0]), region)


def _strongest(cells: Sequence[Cell], region: RegionOf) -> Cell | None:
    """The processes that threads are compared with, as far as that is known beforehand: on the
    first arm with the GIL and mimalloc, which is the fastest for most workloads, else on the first
    with the GIL, else on any; fresh ones before forked ones. None where there are none.
    """

    def rank(curve: Sequence[Cell]) -> tuple[bool, bool, int]:
        arm, model = parse_arm(curve[0].arm), curve[0].model
        is_fast = "mimalloc" in arm.settings
        return not arm.expected.gil_enabled, not is_fast, PROCESSES.index(model)

    of_processes = [curve for curve in _curves(cells) if curve[0].model in PROCESSES]
    best = min(of_processes, key=rank, default=None)
    return None if best is None else _at_largest(best, region)


def _curves(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells that differ in N alone."""
    curves: dict[Cell, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(replace(cell, workers=0), []).append(cell)
    return list(curves.values())


def _at_largest(curve: Sequence[Cell], region: RegionOf) -> Cell:
    on_cores = [cell for cell in curve if region(cell.workers) == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
