"""The order of the runs: complete blocks, each shuffled by the study's seed and nothing else."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scaling.journal.record import Cell


class PlannedRun(NamedTuple):
    """One run to do: `position` counts from 0 within its block."""

    block: int
    position: int
    cell: Cell


def in_blocks(cells: Sequence[Cell], blocks: int, seed: int) -> Iterator[PlannedRun]:
    """Every cell once a block, in an order that depends on the seed, the block and the cells alone.

    A block does not depend on how many there are.
    """
    for block in range(blocks):
        yield from one_block(cells, block, seed)


def one_block(cells: Sequence[Cell], block: int, seed: int) -> Iterator[PlannedRun]:
    """Every cell once, in the order of this block."""
    # Seeding by text and `random()` itself are the two parts of the module that Python promises to
    # keep as they are; `shuffle` and `sample` are not.
    source = random.Random(f"{seed}:{block}")
    shuffled = sorted(cells, key=lambda _: source.random())
    for position, cell in enumerate(shuffled):
        yield PlannedRun(block, position, cell)
