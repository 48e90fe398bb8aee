"""The order of the runs: complete blocks, each shuffled by the study's seed and nothing else.

The noise of neighbouring runs correlates by 0.3 to 0.4, and that of runs 16 places apart hardly at
all (`python -m tests.benchmarks variance`), so cells whose ratio is taken stand close together: the
shuffle is nested. Workloads come in random order, inside a workload its parameters and sizing,
inside those its loops, inside a loop its Ns, and inside an N its arms and models.

The second run of an A/A pair is shuffled like an N of its own. The two then stand as far apart as
the runs of a gain, and differ by as much where the machine changes inside a block. Beside its cell
a pair scattered by 1 to 9 % less than a gain with the noise of the published journals, and by a
third less where all noise was the machine's (simulated in
tests/analysis/test_order_of_runs_lowers_noise.py).

Where cells are measured in turn (`scaling.study.plan.groups`), the workloads come in random order,
inside a workload its groups, and inside a group its cells.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scaling.journal.record import Cell

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
    """One run to do: `position` counts from 0 within its block."""

    block: int
    position: int
    cell: Cell


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
