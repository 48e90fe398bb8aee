"""Randomised complete blocks: every cell once in each, in an order that the seed alone decides."""

from collections import Counter
from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scaling.journal.record import Cell
from scaling.study.plan.order import in_blocks, one_block

CELLS = [
    Cell(workload=workload, loop=loop, arm=arm, model="threads", workers=workers)
    for workload in ("compute", "echo")
    for loop in ("asyncio", "uvloop")
    for arm in ("3.14", "3.14t")
    for workers in (1, 2, 4)
]
SEEDS = st.integers(-(2**64), 2**64)


def order(blocks: int, seed: int, cells: list[Cell] = CELLS) -> list[tuple[int, int, Cell]]:
    return [(run.block, run.position, run.cell) for run in in_blocks(cells, blocks, seed)]


@given(st.integers(0, len(CELLS)), st.integers(1, 20), SEEDS)
def test_every_block_holds_every_cell_exactly_once(count: int, blocks: int, seed: int) -> None:
    cells = CELLS[:count]
    runs = order(blocks, seed, cells)
    for block in range(blocks):
        inside = [(position, key) for number, position, key in runs if number == block]
        assert [position for position, _ in inside] == list(range(count))
        assert Counter(key for _, key in inside) == Counter(cells)


@given(st.integers(1, 10), st.integers(0, 10), SEEDS)
def test_more_blocks_leave_those_before_as_they_were(blocks: int, more: int, seed: int) -> None:
    assert order(blocks + more, seed)[: blocks * len(CELLS)] == order(blocks, seed)


@given(st.lists(SEEDS, min_size=2, max_size=2, unique=True))
def test_another_seed_is_another_order(seeds: list[int]) -> None:
    # Two of 24! orders: equal ones would mean that the seed is not used.
    assert order(1, seeds[0]) != order(1, seeds[1])


@given(SEEDS)
def test_blocks_differ_from_one_another(seed: int) -> None:
    orders = {
        tuple(key for number, _, key in order(3, seed) if number == block) for block in range(3)
    }
    assert len(orders) == 3


@given(SEEDS)
def test_cells_whose_ratio_is_taken_stand_together(seed: int) -> None:
    """Both arms of an N are neighbours, the Ns of a loop stand together, and so do the loops."""
    cells = [run.cell for run in one_block(CELLS, 0, seed)]
    for alike in (
        lambda cell: (cell.workload, cell.loop, cell.workers),
        lambda cell: (cell.workload, cell.loop),
        lambda cell: cell.workload,
    ):
        kinds = [kind for kind, _ in groupby(cells, key=alike)]
        assert len(kinds) == len(set(kinds))


@settings(max_examples=10)
@given(SEEDS)
def test_every_order_inside_a_group_comes_up(seed: int) -> None:
    """Over blocks each cell is the first of its group, and each group the first of its block."""
    first = [next(one_block(CELLS, block, seed)).cell for block in range(600)]
    assert set(first) == set(CELLS)


def test_the_order_for_a_seed_is_this_one_on_every_machine_and_python() -> None:
    """Journals are resumed by it: one that changes needs another number (`ORDER`)."""
    cells = [replace(CELLS[0], workers=workers) for workers in range(1, 9)]
    first, second = (
        [run.cell.workers for run in one_block(cells, n, 1, levels=())] for n in (0, 1)
    )
    assert first == [6, 8, 3, 2, 7, 4, 1, 5]
    assert second == [3, 7, 6, 8, 4, 1, 5, 2]
    nested = [CELLS.index(run.cell) for run in one_block(CELLS, 0, seed=1)]
    assert nested == [
        1,
        4,
        5,
        2,
        3,
        0,
        10,
        7,
        9,
        6,
        11,
        8,
        21,
        18,
        19,
        22,
        20,
        23,
        12,
        15,
        17,
        14,
        16,
        13,
    ]
