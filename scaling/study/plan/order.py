"""A block: the order of its runs, and the cells that it runs twice (A/A pairs).

Every block has all cells, shuffled by the study's seed alone. The noise of neighbouring runs
correlates by 0.3 to 0.4 in published journals, and that of runs 16 places apart hardly at all. So
the shuffle is nested, and cells whose ratio is taken are close together: workloads are shuffled,
inside a workload its parameters and sizing, inside these the loops, inside a loop the Ns, and
inside an N the arms and models.

The second run of an A/A pair is shuffled like an N of its own. Then the two runs are as far apart
as the runs of a gain, and differ as much if the machine changes inside a block. A pair of
neighbours scattered by 1 to 9 % less than a gain with the noise of the published journals, and by a
third less if all noise was the machine's (simulated).

If cells take turns (`scaling.study.plan.groups`), workloads are shuffled, inside a workload its
groups, and inside a group its cells.
"""

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

from scaling.base.models import PROCESSES, THREADS
from scaling.builds.arms import parse_arm
from scaling.journal.record import Cell, Key, ParameterValue, Region
from scaling.study.load import RATE, is_open_loop, middle
from scaling.study.sections import curve_of

# Order version, recorded in each journal (`StudyLine.order`); increase it when the order changes.
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
        """The key of its line in the journal (`RunLine.key`)."""
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
    """Every slot once, in the order of this block; the slots of a group are neighbours.

    The order depends on the seed, the block and the slots alone, not on how many blocks there are.
    Slots that are alike at the first of the `levels` are neighbours, and so on level by level.
    """
    # Seeding by text and `random()` itself are the two parts of the module that Python promises to
    # keep as they are; `shuffle` and `sample` are not.
    source = random.Random(f"{seed}:{block}")
    if number := {slot: place for place, group in enumerate(groups) for slot in group}:
        levels = (levels[0], number.__getitem__)
    for position, slot in enumerate(_shuffled(list(slots), levels, source)):
        yield PlannedRun(block, position, *slot)


def _shuffled(slots: Sequence[Slot], levels: Levels, source: random.Random) -> list[Slot]:
    """The slots in random order; slots that are alike at a level are neighbours."""
    if not levels:
        return sorted(slots, key=lambda _: source.random())
    groups: dict[Hashable, list[Slot]] = {}
    for slot in slots:
        groups.setdefault(levels[0](slot), []).append(slot)
    inside = [_shuffled(group, levels[1:], source) for group in groups.values()]
    return [slot for group in sorted(inside, key=lambda _: source.random()) for slot in group]


# ---------------------------------------------------------------------------------------- A/A pairs
# Cells that are run twice in a block, to show how much equal cells differ.
#
# Only a label in the journal (`RunLine.repeat`) distinguishes the second run: the child gets the
# same document, the progress line is the same, and the run has its own place in the random order.
#
# If cells take turns, both runs of a pair take turns, too, and show the noise of ratios in turn.
# The runs of a gain have different N, are in different groups, and differ more. So at least one
# pair of a workload with a gain is not in turn: its runs are as far apart as those of the gain.

FEWEST_ALIKE = 8  # this many cells with equal parameters get a pair of their own


class AAPair(NamedTuple):
    """An A/A pair: a cell that is run twice, and the cell that the second run is grouped with.

    A pair is `added` if its workload has another pair already.
    """

    cell: Cell
    beside: Cell
    added: bool = False


def aa_pairs(cells: Sequence[Cell], in_turn: Collection[Cell], region: RegionOf) -> list[AAPair]:
    """The A/A pairs of these cells, of which those `in_turn` take turns; added pairs last.

    The second run of a pair belongs beside the first. If a workload has a gain and all its pairs
    would be in turn, one pair is of a gain: the cell with the fewest workers on the curve of the
    first pair, its second run beside the first pair's cell. This pair replaces the first pair, or
    is added if there is no other.
    """
    workloads: dict[str, list[Cell]] = {}
    for cell in repeated(cells, region):
        workloads.setdefault(cell.workload, []).append(cell)
    found: list[AAPair] = []
    for own in workloads.values():
        pairs = [AAPair(cell, cell) for cell in own]
        (curve,) = (each for each in _curves(cells) if own[0] in each)
        fewest = min(curve, key=lambda cell: cell.workers)
        if fewest.workers < own[0].workers and {fewest, *own} <= set(in_turn):
            is_only = len(own) == 1
            gain = AAPair(fewest, own[0], added=is_only)
            pairs = [*pairs, gain] if is_only else [gain, *pairs[1:]]
        found += pairs
    return sorted(found, key=lambda pair: pair.added)


def repeated(cells: Iterable[Cell], region: RegionOf) -> list[Cell]:
    """The cells that are run twice in a block, in the order of their workloads.

    Each workload has a pair of threads without the GIL in a closed loop, and one in an open loop at
    its middle rate. Each set of parameters with many cells has a pair, too, since the noise depends
    on the parameters. Each workload also has a pair of the processes that threads are compared
    with.
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

    Its curve is the first of threads without the GIL, or the first: equal runs of threads that
    contend for a GIL differ more.
    """
    curves = _curves(cells)
    without_gil = (
        curve
        for curve in curves
        if curve[0].model == THREADS and parse_arm(curve[0].arm).without_gil
    )
    return _at_largest(next(without_gil, curves[0]), region)


def _strongest(cells: Sequence[Cell], region: RegionOf) -> Cell | None:
    """The processes that threads are probably compared with; None without processes.

    They are on the first arm with the GIL and mimalloc, which is the fastest for most workloads,
    else on the first with the GIL, else on any; fresh ones before forked ones.
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
        curves.setdefault(curve_of(cell), []).append(cell)
    return list(curves.values())


def _at_largest(curve: Sequence[Cell], region: RegionOf) -> Cell:
    on_cores = [cell for cell in curve if region(cell.workers) == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
