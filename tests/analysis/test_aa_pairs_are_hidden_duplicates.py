"""Every study runs duplicates of its own cells (A/A), and only the journal says which they are."""

from collections import Counter
from pathlib import Path
from typing import Any

from scaling.journal.record import Cell
from scaling.machine.topology import Topology
from scaling.run.session import Replay
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import repeated
from scaling.study.plan.table import aa_pairs_line
from tests.support.driving import believes, driven, opened
from tests.support.plans import planned

STUDY = """
blocks = 3
workers = [1, 2, 4]
loops = ["asyncio", "uvloop"]
[[workloads]]
name = "echo"
sizing = ["strong", "weak"]
parameters = { payload_bytes = [256, 1024] }
[[workloads]]
name = "echo"
models = ["processes"]
[[workloads]]
name = "scrape"
workers = [4, 8]
"""


def plan(text: str = STUDY, **options: Any) -> Plan:
    return planned(text, **{"controls": True, **options})


def test_each_chosen_workload_has_a_duplicate_and_added_controls_have_none() -> None:
    made = plan()
    assert [twin.workload for twin in made.repeats] == ["echo", "echo", "echo", "scrape"]
    assert len(made.cells) > made.asked  # there are controls
    assert set(made.repeats) <= set(made.cells[: made.asked])


def loaded(rates: list[object], servers: list[str], workers: list[int]) -> list[tuple[object, ...]]:
    """Server and rate of each duplicate in a study of `serve` with two models."""
    cells = [
        Cell(
            workload="serve",
            loop="uvloop",
            arm="3.14t",
            model=model,
            workers=n,
            parameters={"server": server, "rate_per_s": rate},  # type: ignore[dict-item]
        )
        for server in servers
        for rate in rates
        for model in ("processes", "threads")
        for n in workers
    ]
    every = repeated(cells, lambda _: "cores")
    (strongest,) = (twin for twin in every if twin.model == "processes")
    assert strongest.workers == max(workers)
    twins = [twin for twin in every if twin != strongest]
    assert {(twin.model, twin.workers) for twin in twins} == {("threads", max(workers))}
    return [(twin.parameters["server"], twin.parameters["rate_per_s"]) for twin in twins]


def test_many_cells_with_one_set_of_parameters_have_a_duplicate_of_their_own() -> None:
    four = [1, 2, 4, 8]
    assert loaded([0, "50%"], ["asgi"], four) == [("asgi", 0), ("asgi", "50%")]
    assert loaded([0], ["tcp", "asgi"], four) == [("tcp", 0), ("asgi", 0)]
    assert loaded([0], ["tcp", "asgi"], [1, 2]) == [("tcp", 0)]


def test_a_closed_and_an_open_loop_have_a_duplicate_each_and_that_at_the_middle_rate() -> None:
    found = loaded([0, "20%", "40%", "60%", "80%"], ["tcp", "asgi"], [1, 2])
    assert found == [("tcp", 0), ("tcp", "40%")]
    assert loaded(["20%", "40%", "60%"], ["tcp"], [1, 2]) == [("tcp", "40%")]
    assert loaded(["80%", "120%", "40%"], ["tcp"], [1, 2]) == [("tcp", "80%")]
    many = loaded(["20%", "40%", "60%"], ["tcp"], [1, 2, 4, 8])
    assert many == [("tcp", "40%"), ("tcp", "20%"), ("tcp", "60%")]


def test_it_repeats_the_first_of_everything_at_the_largest_n_with_a_core_each() -> None:
    echo, processes, other, scrape = plan().repeats
    assert (processes.workload, processes.model, processes.workers) == ("echo", "processes", 2)
    assert other.parameters["payload_bytes"] == 1024
    assert (echo.sizing, echo.parameters["payload_bytes"]) == ("strong", 256)
    assert (echo.loop, echo.model, echo.workers) == ("asyncio", "threads", 2)
    assert scrape.workers == 4  # no N has a core each: the smallest
    on_four, *_ = plan(topology=Topology(logical_cpus=4, physical_cores=4)).repeats
    assert on_four.workers == 4


def test_duplicates_are_in_every_block_at_places_of_their_own() -> None:
    made = plan(seed=3)
    for block in range(3):
        slots = Counter(run.slot for run in made.runs if run.block == block)
        assert slots == Counter(made.slots)
    places = {run.key: run.position for run in made.runs}
    apart = [
        position - places[block, cell, 0]
        for (block, cell, repeat), position in places.items()
        if repeat
    ]
    assert min(apart) < 0 < max(apart)  # neither always before nor always after


def test_a_duplicate_has_its_own_key_so_a_study_resumes_the_right_one(tmp_path: Path) -> None:
    made = plan()
    assert len(set(made.slots)) == len(made.slots)
    driven(made, tmp_path)
    with opened(tmp_path / "journal.jsonl") as journal:
        twins = [line for line in journal.runs if line.repeat]
        assert len(twins) == 3 * len(made.repeats)
        others = [line for line in journal.runs if line != twins[4]]
        left = Replay.of(others, believes).remaining(made.together(made.runs))
    assert [run.key for (run,) in left] == [twins[4].key]


def test_they_can_be_left_out_and_the_plan_says_so() -> None:
    for without in (plan(aa_pairs=False), plan(f"aa_pairs = false\n{STUDY}")):
        assert without.repeats == ()
        assert aa_pairs_line(without).startswith("no A/A pairs")
        assert without.cells == plan().cells
    assert aa_pairs_line(plan(f"aa_pairs = false\n{STUDY}", aa_pairs=True)) == (
        "4 cells are run twice in every block (A/A pairs) to measure the noise; "
        "--no-aa-pairs leaves them out"
    )
