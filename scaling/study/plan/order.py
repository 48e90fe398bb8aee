"""One block: which cells are in it twice, and the order of its runs.

Blocks are complete, each shuffled by the study's seed and nothing else. The noise of neighbouring
runs correlates by 0.3 to 0.4 in published journals, and that of runs 16 places apart hardly at all,
so cells whose ratio is taken stand close together: the shuffle is nested. Workloads come in random
order, inside a workload its parameters and sizing, inside those its loops, inside a loop its Ns,
and inside an N its arms and models.

The second run of an A/A pair is shuffled like an N of its own. The two then stand as far apart as
the runs of a gain, and differ by as much where the machine changes inside a block. Beside its cell
a pair scattered by 1 to 9 % less than a gain with the noise of the published journals, and by a
third less where all noise was the machine's (simulated in
tests/analysis/test_order_of_runs_lowers_noise.py).

Where cells are measured in turn (`scaling.study.plan.groups`), the workloads come in random order,
inside a workload its groups, and inside a group its cells.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

from msgspec.structs import replace

from scaling.base.vocabulary import PROCESSES
from scaling.builds.arms import parse_arm
from scaling.journal.record import Cell, ParameterValue
from scaling.study.load import RATE, is_open_loop, middle

# One of these stands in each journal (`StudyLine.order`); a changed order takes the next number.
ORDER = 3
IN_GROUPS = 4  # the cells of a group, which are measured in turn, one after the other

type Levels = Sequence[Callable[[Cell], Hashable]]

LEVELS: Levels = (
    lambda cell: cell.workload,
    lambda cell: (cell.parameters, cell.sizing),
    lambda cell: cell.loop,
    lambda cell: (cell.workers, cell.twin),
)


class PlannedRun(NamedTuple):
    """One run to do: `position` counts from 0 within its block, `attempt` from 1."""

    block: int
    position: int
    cell: Cell
    attempt: int = 1

    def at(self, attempt: int) -> Self:
        """The same run at another attempt."""
        return self._replace(attempt=attempt)


def hash_seed(seed: int, block: int) -> int:
    """One hash seed per block of a study with that seed, for `PYTHONHASHSEED`.

    Pairs inside a block hash alike, and blocks sample the seeds.
    """
    return (seed * 1_000_003 + block) % 2**32


def one_block(
    cells: Sequence[Cell],
    block: int,
    seed: int,
    groups: Iterable[Sequence[Cell]] = (),
    levels: Levels = LEVELS,
) -> Iterator[PlannedRun]:
    """Every cell once, in the order of this block; with `groups` these stand together.

    The order depends on the seed, the block and the cells alone, not on how many blocks there are.
    Cells that are alike at the first of the `levels` stand together, and so on level by level.
    """
    # Seeding by text and `random()` itself are the two parts of the module that Python promises to
    # keep as they are; `shuffle` and `sample` are not.
    source = random.Random(f"{seed}:{block}")
    if groups:
        number = {cell: place for place, group in enumerate(groups) for cell in group}
        levels = (levels[0], lambda cell: number.get(cell, cell))
    for position, cell in enumerate(_shuffled(cells, levels, source)):
        yield PlannedRun(block, position, cell)


def _shuffled(cells: Sequence[Cell], levels: Levels, source: random.Random) -> list[Cell]:
    """The cells, those alike at the first level together, and so on level by level."""
    if not levels:
        return sorted(cells, key=lambda _: source.random())
    groups: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(levels[0](cell), []).append(cell)
    inside = [_shuffled(group, levels[1:], source) for group in groups.values()]
    return [cell for group in sorted(inside, key=lambda _: source.random()) for cell in group]


# ---------------------------------------------------------------------------------------- A/A pairs
# Cells that are measured twice in a block, which shows how much equal cells differ.
#
# Nothing distinguishes the second of a pair but its label in the journal (`twin`): the child gets
# the same document, the live line says the same words, and it has a place of its own in the random
# order of every block.
#
# Where cells take turns, both runs of a pair do, so it shows the noise of ratios in turn. The runs
# of a gain have different N, are in different groups, and differ by more. So of a workload whose
# pairs would all be in turn one is not: its runs stand as far apart as those of the gain.

FEWEST_ALIKE = 8  # so many cells get a pair of their own, which adds an eighth to their number


def repeats_of(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The second cells of A/A pairs, in the order of their workloads.

    Each workload has a pair; one in a closed loop and one in an open loop, at the middle one of its
    rates, if it has both. Each set of parameters with many cells has one, too: how much equal runs
    differ depends on them. Those are of threads without the GIL, which the figures are about. What
    they are compared with is checked, too: each workload has a pair of its strongest processes.
    """
    workloads: dict[str, list[Cell]] = {}
    for cell in cells:
        workloads.setdefault(cell.workload, []).append(cell)
    chosen = chain.from_iterable(map(_of_workload, workloads.values()))
    return tuple(replace(cell, twin=True) for cell in chosen)


def twins_of_gains(
    cells: Sequence[Cell], repeats: Iterable[Cell], groups: Sequence[Sequence[Cell]]
) -> Iterator[tuple[Cell, Cell, bool]]:
    """For each workload with a gain, whose `repeats` are all in `groups`: a second cell for it.

    It repeats the cell with the fewest workers of the curve that the first of them is of, and
    belongs into the group of that one, which is not the group of what it repeats. First comes the
    one that has a place there, then the other one, then whether it takes that place. It does where
    the workload has another pair in turn; without one, the study has one cell more.
    """
    in_turn = {cell for group in groups for cell in group}
    workloads: dict[str, list[Cell]] = {}
    for twin in repeats:
        workloads.setdefault(twin.workload, []).append(twin)
    for first, *others in workloads.values():
        original = replace(first, twin=False)
        (curve,) = (each for each in _curves(cells) if original in each)
        fewest = min(curve, key=lambda cell: cell.workers)
        if fewest.workers < first.workers and in_turn >= {first, fewest, *others}:
            yield first, replace(fewest, twin=True), bool(others)


def _of_workload(cells: Sequence[Cell]) -> Iterator[Cell]:
    closed = [cell for cell in cells if not is_open_loop(cell.parameters)]
    opened = [cell for cell in cells if is_open_loop(cell.parameters)]
    rate = middle([cell.parameters[RATE] for cell in opened]) if opened else None
    at_middle = [cell for cell in opened if cell.parameters[RATE] == rate]
    chosen = [_repeated(loaded) for loaded in (closed, at_middle) if loaded]
    yield from chosen
    processes = _strongest(closed or at_middle)
    if processes is not None and processes not in chosen:
        yield processes
    variants: dict[Mapping[str, ParameterValue], list[Cell]] = {}
    for cell in cells:
        variants.setdefault(cell.parameters, []).append(cell)
    for cell in chosen:
        del variants[cell.parameters]
    yield from (_repeated(alike) for alike in variants.values() if len(alike) >= FEWEST_ALIKE)


def _repeated(cells: Sequence[Cell]) -> Cell:
    """The cell to repeat, at the largest N with a core for each worker.

    It is one of the first curve of threads without the GIL, or of the first curve: equal runs of
    threads that contend for a GIL differ more.
    """
    return _at_largest(_headline(_curves(cells)))


def _strongest(cells: Sequence[Cell]) -> Cell | None:
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
    return None if best is None else _at_largest(best)


def _curves(cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells that differ in N alone."""
    curves: dict[Cell, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(cell.but(workers=0, pinning=None), []).append(cell)
    return list(curves.values())


def _headline(curves: Sequence[Sequence[Cell]]) -> Sequence[Cell]:
    without_gil = (
        curve
        for curve in curves
        if curve[0].model == "threads" and parse_arm(curve[0].arm).without_gil
    )
    return next(without_gil, curves[0])


def _at_largest(curve: Sequence[Cell]) -> Cell:
    on_cores = [cell for cell in curve if cell.region == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
