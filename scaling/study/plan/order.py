"""The order of the runs: complete blocks, each shuffled by the study's seed and nothing else.

The noise of neighbouring runs correlates by 0.3 to 0.4, and that of runs 16 places apart hardly at
all (`python -m tests.benchmarks variance`), so cells whose ratio is taken stand close together: the
shuffle is nested. Workloads come in random order, inside a workload its parameters and sizing,
inside those its loops, inside a loop its Ns, and inside an N its arms and models.

The second run of an A/A pair is shuffled like an N of its own. The two then stand as far apart as
the runs of a gain, and differ by as much where the machine changes inside a block. Beside its cell
(`NESTED`) a pair scattered by 1 to 9 % less than a gain with the noise of the published journals,
and by a third less where all noise was the machine's (simulated in
tests/analysis/test_aa_pairs_are_as_far_apart_as_gains.py).

A journal says by which order it was begun (`StudyLine.order`), and is resumed in that one.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from scaling.base.errors import UsageError
from scaling.journal.identity import canonical
from scaling.journal.record import Cell

SHUFFLED = 1  # all cells of a block shuffled as one; also of journals that name no order
NESTED = 2  # A/A pairs inside their N
APART = 3
ORDER = APART  # of studies begun now

type Levels = Sequence[Callable[[Cell], str | int]]

LOOPS: Levels = (
    lambda cell: cell.workload,
    lambda cell: f"{canonical(cell.parameters)} {cell.sizing}",
    lambda cell: cell.loop,
)

LEVELS_OF: dict[int, Levels] = {
    SHUFFLED: (),
    NESTED: (*LOOPS, lambda cell: cell.workers),
    APART: (*LOOPS, lambda cell: f"{cell.workers} {cell.twin}"),
}


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


def in_blocks(
    cells: Sequence[Cell], blocks: int, seed: int, order: int = ORDER
) -> Iterator[PlannedRun]:
    """Every cell once a block, in an order that depends on the seed, the block and the cells alone.

    A block does not depend on how many there are.
    """
    for block in range(blocks):
        yield from one_block(cells, block, seed, order)


def one_block(
    cells: Sequence[Cell], block: int, seed: int, order: int = ORDER
) -> Iterator[PlannedRun]:
    """Every cell once, in the order of this block.

    Raises:
        UsageError: this version does not know the order.
    """
    require_known(order)
    # Seeding by text and `random()` itself are the two parts of the module that Python promises to
    # keep as they are; `shuffle` and `sample` are not.
    source = random.Random(f"{seed}:{block}")
    for position, cell in enumerate(_shuffled(cells, LEVELS_OF[order], source)):
        yield PlannedRun(block, position, cell)


def require_known(order: int) -> None:
    """Make sure that this version can put runs into an order that a journal names.

    Raises:
        UsageError: it cannot.
    """
    if order not in LEVELS_OF:
        raise UsageError(
            f"the journal was written by a newer scaling (order of runs {order}, this one knows "
            f"up to {max(LEVELS_OF)}). Upgrade, or choose another folder with --output DIR"
        )


def _shuffled(cells: Sequence[Cell], levels: Levels, source: random.Random) -> list[Cell]:
    """The cells, those alike at the first level together, and so on level by level."""
    if not levels:
        return sorted(cells, key=lambda _: source.random())
    groups: dict[str | int, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(levels[0](cell), []).append(cell)
    inside = [_shuffled(group, levels[1:], source) for group in groups.values()]
    return [cell for group in sorted(inside, key=lambda _: source.random()) for cell in group]
