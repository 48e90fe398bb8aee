"""Cells whose ratio is asked for are measured in turn; groups follow from the ratios alone."""

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scaling.builds.installed import POSTGRES
from scaling.journal.record import Cell, Description, ParameterFacts, Rounds, WorkloadFacts
from scaling.run.session import Replay
from scaling.study.file import built_in_text
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import (
    MIB,
    OF_PROCESSES,
    Edge,
    Group,
    Room,
    alternation_blocker,
    groups,
    memory_bytes,
    ratio_edges,
)
from scaling.study.plan.order import IN_GROUPS, ORDER, PlannedRun, Slot
from tests.support.descriptions import COMPUTE, ECHO
from tests.support.driving import Machine, Pretended, doubts, driven, opened
from tests.support.plans import planned

TURNING = {"echo": replace(ECHO, alone=None), "compute": replace(COMPUTE, alone=None)}
CELLS = [
    Cell(workload="echo", loop=loop, arm=arm, model=model, workers=workers)
    for workers in (1, 2)
    for loop in ("asyncio", "uvloop")
    for arm in ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
    for model in ("threads", "processes")
]


SLOTS = [*map(Slot, CELLS)]


def names(found: Sequence[Group]) -> list[list[int]]:
    """The places of the cells of each group in `CELLS`."""
    return [[SLOTS.index(slot) for slot in group.slots] for group in found]


def ratio(of: int, over: int, rank: int = OF_PROCESSES) -> Edge:
    return Edge(SLOTS[of], SLOTS[over], rank)


def test_cells_that_ratios_connect_are_together() -> None:
    found = groups(SLOTS[:6], [ratio(0, 2), ratio(4, 2), ratio(3, 5)], {}, Room())
    assert names(found) == [[0, 2, 4], [1], [3, 5]]


def test_a_group_that_is_too_large_is_divided_and_the_first_ratios_stay_whole() -> None:
    chain = [ratio(k, k + 1, rank=k % 2) for k in range(11)]
    found = names(groups(SLOTS[:12], chain, {}, Room(most={"echo": 8})))
    assert max(map(len, found)) <= 8
    for first in range(0, 12, 2):
        assert any({first, first + 1} <= set(group) for group in found)


def test_what_does_not_fit_into_memory_is_divided() -> None:
    asked = [ratio(0, 1), ratio(2, 3), ratio(0, 2)]
    needs = {cell: memory_bytes(cell, ECHO) for cell in CELLS[:4]}
    whole = sum(needs.values())
    for most_bytes, expected in (
        (whole, [[0, 1, 2, 3]]),
        (whole - 1, [[0, 1], [2, 3]]),
        (100 * MIB, [[0], [1], [2], [3]]),
    ):
        room = Room(needs=needs, most_bytes=most_bytes)
        assert names(groups(SLOTS[:4], asked, {}, room)) == expected


@given(st.lists(st.tuples(*[st.sampled_from(SLOTS[:16])] * 2)), st.integers(2, 8))
def test_every_cell_is_in_one_group_or_alone_for_a_reason(
    asked: list[tuple[Slot, Slot]], most: int
) -> None:
    found = groups(SLOTS[:16], list(itertools.starmap(Edge, asked)), {}, Room(most={"echo": most}))
    assert sorted(itertools.chain.from_iterable(names(found))) == list(range(16))
    assert all(len(group.slots) <= most for group in found)
    assert all((len(group.slots) == 1) == bool(group.alone) for group in found)


def test_threads_are_in_turn_with_processes_and_arms_with_the_one_they_differ_from() -> None:
    edges = ratio_edges(CELLS, lambda _: "cores")
    of = [[SLOTS.index(slot) for slot in edge[:2]] for edge in edges]
    threads, processes = range(0, 8, 2), range(1, 8, 2)  # by arm, N = 1, asyncio
    over_processes = [[threads[3], processes[0]], [threads[3], processes[1]]]
    first = [pair for pair, edge in zip(of, edges, strict=True) if edge.rank == OF_PROCESSES]
    assert first[:2] == over_processes  # which a study is about
    assert [threads[3], processes[3]] not in of  # they have no GIL
    for above, below in itertools.pairwise(reversed(threads)):
        assert [above, below] in of
    assert [threads[3], threads[0]] in of
    assert [8, 0] in of
    assert not any(CELLS[a].workers != CELLS[b].workers for a, b in of)
    assert not any(a == b for a, b in of)


def test_cells_of_headline_ratios_are_nearer_in_a_turn_than_at_random(
    described_here: Description,
) -> None:
    """At random, two of n places are (n + 1) / 3 apart on average."""
    plan = planned(built_in_text("compare"), workloads=described_here.workloads)
    orders: dict[frozenset[Slot], set[tuple[Slot, ...]]] = {}
    for runs in plan.together(plan.runs):
        slots = frozenset(slots_of(runs))
        pairs = [edge[:2] for edge in plan.headlines if slots.issuperset(edge[:2])]
        if len(slots) > 2 and pairs:
            order = slots_of(plan.turn_order(runs))
            assert sorted(map(order.index, slots)) == [*range(len(runs))]
            apart = [abs(order.index(of) - order.index(over)) for of, over in pairs]
            assert sum(apart) < len(pairs) * (len(order) + 1) / 3
            orders.setdefault(slots, set()).add(order)
    assert {slot.cell.workload for slots in orders for slot in slots} == {"compute", "echo"}
    assert all(len(each) == plan.study.blocks for each in orders.values())


def slots_of(runs: Sequence[PlannedRun]) -> tuple[Slot, ...]:
    return tuple(run.slot for run in runs)


def test_what_is_not_measured_in_turn_has_a_reason() -> None:
    facts = TURNING["echo"]
    assert alternation_blocker(CELLS[0], facts, cpus=2) is None
    assert "workers for each CPU" in (
        alternation_blocker(replace(CELLS[0], workers=9), facts, 2) or ""
    )
    assert (
        alternation_blocker(replace(CELLS[0], arm="go"), facts, 2)
        == "another runtime has no slices"
    )
    assert alternation_blocker(CELLS[0], replace(facts, alone="timers"), 2) == "timers"


def test_a_server_is_loaded_in_turn_where_its_load_can_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def why(path: str = "x:App", services: Sequence[str] = (), **parameters: object) -> str:
        facts = WorkloadFacts(path=path, served=True, alone=None, services=list(services))
        cell = replace(CELLS[0], workload="app", parameters=parameters)
        return alternation_blocker(cell, facts, cpus=2) or ""

    app = "workers.workloads.app:App"
    assert why() == why(rate_per_s=0.0, keep_alive=True) == why(app, server="loops") == ""
    assert "open loop" in why(rate_per_s=100.0)
    assert "open loop" in why(rate_per_s="40%")
    assert why(keep_alive=False) == ""
    assert why(services=["postgres"]) == ""
    assert why(services=["postgres"], pooler="pgbouncer", proxy="nginx") == ""
    assert why(services=["responder"], delay_ms=0.0) == ""
    assert "after a delay" in why(services=["responder"], delay_ms=20.0)
    monkeypatch.setenv(POSTGRES, "postgresql://127.0.0.1/mine")
    assert "belongs to you" in why(services=["postgres"])
    assert why(app, server="uvicorn") == ""


def test_a_cell_with_a_service_of_its_own_is_measured_alone() -> None:
    facts, cell = TURNING["compute"], replace(CELLS[0], workload="cache")
    for parameters in ({"cache": "valkey"}, {"miss": "postgres"}):
        beside = replace(cell, parameters=parameters)
        assert alternation_blocker(beside, facts, 2) == "its services go on while it is stopped"
    inside = replace(cell, parameters={"cache": "dict", "miss": "cpu"})
    assert alternation_blocker(inside, facts, 2) is None


def made(*, alone: str = "", **options: Any) -> Plan:
    usual: dict[str, Any] = {
        "workers": ("1,2",),
        "model": ("threads,processes",),
        "loop": ("asyncio",),
        "blocks": 2,
    }
    limits = {"alone": alone}
    return planned(workloads=TURNING, limits=limits, **(usual | options))


def reasons(plan: Plan) -> dict[Slot, str]:
    """Why runs are alone, by their place."""
    return {slot: group.alone for group in plan.groups for slot in group.slots if group.alone}


@pytest.fixture
def plan() -> Plan:
    return made()


def test_a_block_has_its_groups_one_after_the_other_in_an_order_of_the_seed() -> None:
    plan = made(blocks=20)
    assert plan.order == IN_GROUPS
    orders = set()
    for block in range(20):
        runs = plan.block(block)
        assert [run.position for run in runs] == list(range(len(runs)))
        assert Counter(run.slot for run in runs) == Counter(plan.slots)
        assert [run for batch in plan.together(runs) for run in batch] == runs
        orders.add(tuple(run.cell for run in runs))
        assert plan.block(block) == runs
    assert len(orders) > 10


def test_without_alternation_a_study_is_that_of_1_0() -> None:
    old, new = made(alternate=False), made()
    assert (old.order, old.in_turn) == (ORDER, [])
    assert reasons(old) == dict.fromkeys(old.slots, "--no-alternate")
    assert "alternate" not in old.study.document
    assert new.study.document["alternate"] is True
    assert all(len(batch) == 1 for batch in old.together(old.runs))
    assert Counter(old.cells) == Counter(new.cells)
    assert len(old.repeats) == len(new.repeats)


def in_groups(plan: Plan, cell: Cell, repeat: int = 0) -> list[int]:
    return [n for n, group in enumerate(plan.in_turn) if Slot(cell, repeat) in group.slots]


def test_a_gain_has_an_a_a_pair_whose_runs_are_in_different_groups() -> None:
    """As its own runs are: a pair whose runs are in turn hides what gains scatter by."""
    plan = made()
    twin, other = plan.repeats
    assert (twin.model, twin.workers) == ("threads", 1)
    assert (other.model, other.workers) == ("processes", 2)
    assert in_groups(plan, other, 1) == in_groups(plan, other) != []
    assert in_groups(plan, twin, 1) == in_groups(plan, other)
    assert in_groups(plan, twin) not in ([], in_groups(plan, twin, 1))


def test_a_gain_of_threads_alone_has_one_more_and_one_that_is_not_in_turn_has_none() -> None:
    """The other pair is in turn with the arms that threads are compared with."""
    plan = made(model=("threads",), arm=("3.14,3.14t",))
    in_turn, apart = plan.repeats
    assert in_groups(plan, in_turn, 1) == in_groups(plan, in_turn) != []
    assert in_groups(plan, apart, 1) == in_groups(plan, in_turn)
    assert in_groups(plan, apart) not in ([], in_groups(plan, apart, 1))
    alone: list[tuple[dict[str, Any], int]] = [
        ({"workers": ("2",)}, 2),
        ({"alternate": False}, 2),
        ({"model": ("threads",)}, 1),
    ]
    for options, pairs in alone:
        plan = made(**options)
        assert len(plan.repeats) == pairs
        assert all(in_groups(plan, cell, 1) == in_groups(plan, cell) for cell in plan.repeats)


def test_finite_work_takes_turns_by_rounds_if_it_can_be_divided() -> None:
    numbers = {
        name: ParameterFacts(type="int", default=default)
        for name, default in (("tasks", 1_000_000), ("fan_out", 1_000), ("pause_ms", 0.0))
    }
    rounds = Rounds(amount="tasks", part="fan_out", delay="pause_ms")
    facts = WorkloadFacts(path="gather", finite=True, alone=None, rounds=rounds, parameters=numbers)

    def why(**parameters: float) -> str | None:
        return alternation_blocker(
            replace(CELLS[0], workload="gather", parameters=parameters), facts, 2
        )

    assert why() is None
    assert why(tasks=8_000) is None
    assert why(tasks=7_001) is None  # seven whole fan-outs and a part of one
    assert why(tasks=7_000) == "its work cannot be divided into 8 rounds"
    assert why(fan_out=1_000_000) == "its work cannot be divided into 8 rounds"
    assert why(pause_ms=0.5) == "its timers go on while it is stopped"
    small = memory_bytes(replace(CELLS[0], parameters={"fan_out": 1}), facts)
    large = memory_bytes(replace(CELLS[0], parameters={"fan_out": 100_000}, workers=2), facts)
    assert large - small > 2 * 100 * MIB
    undivided = replace(facts, rounds=None, alone="all at once")
    assert alternation_blocker(CELLS[0], undivided, 2) == "all at once"


def test_a_group_with_an_invalid_run_is_made_again_as_a_whole(plan: Plan, tmp_path: Path) -> None:
    batches, runs = plan.together(plan.runs), Pretended()
    bad = max(batches, key=len)
    judge = doubts((bad[1], 1))
    _, told = driven(plan, tmp_path, runs, judge)
    with opened(tmp_path / "journal.jsonl") as written:
        assert Replay.of(written.runs, judge).remaining(batches) == []
    assert runs.done == [*plan.runs, *bad]
    assert runs.attempts == [1] * len(plan.runs) + [2] * len(bad)
    assert told.invalids == [("throttled", True)]
    assert told.counts() == (len(runs.done), len(runs.done), len(bad))


def test_a_disturbed_group_is_made_again_at_once(plan: Plan, tmp_path: Path) -> None:
    runs, first = Pretended(), plan.together(plan.runs)[0]
    extra = Machine({0}).extra()
    _, told = driven(plan, tmp_path, runs, extra=extra)
    assert runs.done == [*first, *first, *plan.runs[len(first) :]]
    assert runs.attempts[: 2 * len(first)] == [1] * len(first) + [2] * len(first)
    assert [again for _, again in told.busy_runs] == [True]


def test_an_interrupted_group_is_measured_again_as_a_whole(plan: Plan, tmp_path: Path) -> None:
    with opened(tmp_path / "journal.jsonl") as written:  # by a driver that was killed in a group
        written.append(Pretended().line(plan.runs[0]))
    runs = Pretended()
    driven(plan, tmp_path, runs)
    assert runs.done == plan.runs
    assert runs.attempts == [2] + [1] * (len(plan.runs) - 1)
