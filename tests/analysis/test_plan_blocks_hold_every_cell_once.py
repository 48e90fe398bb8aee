"""Blocks hold every cell once, in an order of the seed; the child gets the work in flight over all.

Weak sizing lets it grow with the workers, strong sizing does not. Planned again, a published study
has the runs of its journal, in the same order and groups.
"""

from collections import Counter
from itertools import groupby, takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, Description, RatesLine, RunLine, StudyLine
from scaling.study.definition import Options
from scaling.study.file import study_file_of, study_from
from scaling.study.load import is_open_loop
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.order import Slot, one_block
from tests.support.plans import ECHO_FILE, TWO_CORES, planned
from tests.support.published import FOLDERS, name_of
from workers.cell import read_cell

CELLS = [
    Cell(workload=workload, loop=loop, arm=arm, model="threads", workers=workers)
    for workload in ("compute", "echo")
    for loop in ("asyncio", "uvloop")
    for arm in ("3.14", "3.14t")
    for workers in (1, 2, 4)
]
SEEDS = st.integers(-(2**64), 2**64)


def order(blocks: int, seed: int, cells: list[Cell] = CELLS) -> list[tuple[int, int, Cell]]:
    runs = (run for block in range(blocks) for run in one_block(map(Slot, cells), block, seed))
    return [(run.block, run.position, run.cell) for run in runs]


@settings(max_examples=30)
@given(st.integers(0, len(CELLS)), st.integers(1, 20), SEEDS)
def test_every_block_holds_every_cell_exactly_once(count: int, blocks: int, seed: int) -> None:
    cells = CELLS[:count]
    runs = order(blocks, seed, cells)
    for block in range(blocks):
        inside = [(position, key) for number, position, key in runs if number == block]
        assert [position for position, _ in inside] == list(range(count))
        assert Counter(key for _, key in inside) == Counter(cells)
    # More blocks leave those before as they were.
    assert order(blocks + 3, seed, cells)[: len(runs)] == runs


@settings(max_examples=30)
@given(SEEDS, SEEDS)
def test_blocks_and_seeds_differ_and_cells_whose_ratio_is_taken_stand_together(
    seed: int, other: int
) -> None:
    """Equal ones of 24! orders would mean that the seed, or the block, is not used. Both arms of an
    N are neighbours, the Ns of a loop stand together, and so do the loops.
    """
    runs = order(3, seed)
    blocks = [[cell for number, _, cell in runs if number == block] for block in range(3)]
    assert len({*map(tuple, blocks)}) == 3
    assert (order(1, seed) == order(1, other)) == (seed == other)
    for alike in (
        lambda cell: (cell.workload, cell.loop, cell.workers),
        lambda cell: (cell.workload, cell.loop),
        lambda cell: cell.workload,
    ):
        kinds = [kind for kind, _ in groupby(blocks[0], key=alike)]
        assert len(kinds) == len(set(kinds))


@settings(max_examples=3)
@given(SEEDS)
def test_every_order_inside_a_group_comes_up(seed: int) -> None:
    """Over blocks each cell is the first of its group, and each group the first of its block."""
    first = [next(one_block(map(Slot, CELLS), block, seed)).cell for block in range(600)]
    assert set(first) == set(CELLS)


def test_the_order_for_a_seed_is_this_one_on_every_machine_and_python() -> None:
    """Journals are resumed by it: one that changes needs another number (`ORDER`)."""
    cells = [replace(CELLS[0], workers=workers) for workers in range(1, 9)]
    first, second = (
        [run.cell.workers for run in one_block(map(Slot, cells), n, 1, levels=())] for n in (0, 1)
    )
    assert first == [6, 8, 3, 2, 7, 4, 1, 5]
    assert second == [3, 7, 6, 8, 4, 1, 5, 2]
    nested = " ".join(str(CELLS.index(run.cell)) for run in one_block(map(Slot, CELLS), 0, seed=1))
    assert nested == "1 4 5 2 3 0 10 7 9 6 11 8 21 18 19 22 20 23 12 15 17 14 16 13"


def plan(*flags: str, workers: str = "1,2,4", arm: str = "3.14t") -> Plan:
    return planned(
        f"{ECHO_FILE}[[workloads]]\nname = 'compute'",
        workers=(workers,),
        set=flags,
        sizing=("weak,strong",),
        arm=(arm,),
    )


@settings(max_examples=25)
@given(st.lists(st.integers(1, 64), min_size=1, max_size=6, unique=True), st.integers(1, 100))
def test_weak_grows_with_the_workers_strong_has_the_most_of_that_and_the_child_deals_it_out_evenly(
    workers: list[int], connections: int
) -> None:
    made = plan(f"echo.connections={connections}", workers=",".join(map(str, workers)))
    for cell in made.cells:
        total = made.in_flight(cell)
        child = read_cell(made.document(cell, ticks=20))
        shares = [child.share(index) or 0 for index in range(child.workers)]
        if cell.workload == "compute":
            assert (total, sum(shares)) == (None, 0)
            continue
        weak = cell.sizing == "weak"
        assert total == connections * (cell.workers if weak else max(workers))
        assert sum(shares) == total
        assert max(shares) - min(shares) <= 1
        assert min(shares) >= 1


def test_the_child_understands_the_document_and_gets_what_was_planned(
    snapshot: SnapshotAssertion,
) -> None:
    made = plan("echo.payload_bytes=256", workers="2", arm="3.14t+nogc")
    (cell,) = [cell for cell in made.cells if (cell.workload, cell.sizing) == ("echo", "strong")]
    document = made.document(cell, services={"site": ["http://127.0.0.1:1"]}, ticks=10)
    assert read_cell(document) == snapshot


def test_flags_are_typed_by_the_description_and_sweep_and_each_cell_is_there_once() -> None:
    made = plan("echo.payload_bytes=256,1024", "echo.work_us=10", "echo.tls=true", workers="1,1")
    weak = [cell for cell in made.cells if (cell.workload, cell.sizing) == ("echo", "weak")]
    first, second = (cell.parameters for cell in weak)
    assert (first["payload_bytes"], second["payload_bytes"]) == (256, 1024)
    assert (first["work_us"], first["tls"], type(first["work_us"])) == (10.0, True, float)
    flags = "echo.connections=1,4", "echo.connections=1"
    assert len(planned(2 * ECHO_FILE, workers=("1,2,2",), set=flags).cells) == 4
    (cell,) = planned(f"{ECHO_FILE}parameters = {{ work_us = 10 }}", workers=("1",)).cells
    assert (cell.parameters["work_us"], type(cell.parameters["work_us"])) == (10.0, float)


# --- published studies ---------------------------------------------------------------------------

# Versions before 1.1 chose other A/A pairs, and what some builds or workloads could not do they can
# today, or the other way round. `compare` has runs of Go, which is not described here.
OTHER = {
    *("epyc-2-cores/remedies-echo", "epyc-2-cores-4/compare"),
    *(f"epyc-2-cores-3/{name}" for name in ("broadcast", "losses", "stack-fair", "state")),
    *(f"xeon-2-cores/{name}" for name in ("million", "million-fetch", "scale-pgo", "switches")),
    *(
        f"xeon-2-cores-2/{name}"
        for name in ("compare", "gateway", "remedies-echo", "task-overhead", "versions")
    ),
}
BLOCKS = 2
SAME = [folder for folder in FOLDERS if name_of(folder) not in OTHER]


def planned_again(head: StudyLine, here: Description) -> Plan:
    file = study_file_of(head.study, head.name)
    study = study_from(Options(study=head.name), running_build="3.14t", file=file)
    plan = make_plan(study, dict.fromkeys(study.arms, here), TWO_CORES)
    return plan.at_rates(head.calibrations)


@pytest.mark.slow
@pytest.mark.parametrize("folder", SAME, ids=name_of)
def test_planned_again_a_study_has_the_runs_of_its_journal_in_their_order(
    folder: Path, described_here: Description
) -> None:
    """So one that is interrupted goes on under a later version, and seeds keep their meaning."""
    head, *lines = takewhile(
        lambda line: not isinstance(line, RunLine) or line.block < BLOCKS,
        read_lines(folder / "journal.jsonl.gz", lambda _: None),
    )
    assert isinstance(head, StudyLine)
    rates = [line for line in lines if isinstance(line, RatesLine)]
    head = rates[0].of(head) if rates else head
    plan = planned_again(head, described_here)
    runs = [line for line in lines if isinstance(line, RunLine) and line.attempt == 1]
    expected = [run for block in range(BLOCKS) for run in plan.block(block)]
    if rates:  # they became known in the first block, whose open loops came last then
        expected.sort(
            key=lambda run: (run.block, not run.block and is_open_loop(run.cell.parameters))
        )
    assert (plan.order, plan.study.blocks) == (head.order, head.blocks)
    assert [line.key for line in runs] == [run.key for run in expected]
    first = {run.key: batch[0].position for batch in plan.together(expected) for run in batch}
    for line in runs:
        assert line.placement == plan.placement(line.cell.workers)
        if line.group is not None:
            assert line.group == first[line.key]
