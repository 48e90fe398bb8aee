"""What disturbed one run of a group disturbed all of them, and each of their lines says so."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from msgspec.structs import replace

from scaling.journal.record import Disturbance
from scaling.run.child import Child, Ending, Run
from scaling.run.execute import Executor
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import Slot
from tests.support import driving
from tests.support.descriptions import ECHO
from tests.support.plans import planned

OF_ONE, OF_ALL = Disturbance(steal_fraction=0.25), Disturbance(steal_fraction=0.5)

type Jobs = Callable[[ExitStack], Sequence[Callable[[Any], Coroutine[Any, Any, None]]]]


def in_turn(jobs: Jobs, window_s: float) -> tuple[list[None], Disturbance]:
    """Does them one after the other."""
    with ExitStack() as needed:
        return [asyncio.run(job(None)) for job in jobs(needed)], OF_ALL


@pytest.fixture
def plan() -> Plan:
    """Each block has two groups."""
    return planned(
        workloads={"echo": replace(ECHO, alone=None)},
        workers=("1,2",),
        model=("threads,processes",),
        loop=("asyncio",),
        blocks=2,
    )


@pytest.fixture
def executor(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Executor:
    """Starts nothing: every run has crashed."""
    ending = Ending("crashed", elapsed_s=1.0, disturbance=OF_ONE)

    async def observed(*_: object) -> Ending:
        return ending

    monkeypatch.setattr(Executor, "_run", lambda *_, **__: Run(Child("", {}), {}))
    monkeypatch.setattr("scaling.run.execute.observed", observed)
    monkeypatch.setattr("scaling.run.execute.run_child", lambda _: ending)
    return driving.executor(driving.prepared(plan))


def test_every_run_has_what_disturbed_its_group_and_the_place_of_it(
    plan: Plan, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scaling.run.execute.in_turn", in_turn)
    for runs in plan.together(plan.runs):
        lines = [line for line, _ in executor.together(runs)]
        assert len(lines) > 1
        assert [line.position for line in lines] == [run.position for run in runs]
        assert {line.group for line in lines} == {runs[0].position}
        assert all(line.disturbance == OF_ALL for line in lines)


def test_the_order_of_turns_is_drawn_anew_for_each_group_of_each_block_and_attempt(
    plan: Plan, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Slot, ...]] = []

    def noted(jobs: Jobs, window_s: float) -> tuple[list[None], Disturbance]:
        with ExitStack() as needed:
            made: Sequence[Any] = jobs(needed)
            drawn.append(tuple(job.__self__.planned.slot for job in made))
        return in_turn(jobs, window_s)

    monkeypatch.setattr("scaling.run.execute.in_turn", noted)
    runs = plan.together(plan.block(0))[0]
    in_next = [run._replace(block=1) for run in runs]
    in_other_group = [run._replace(position=run.position + len(runs)) for run in runs]
    for each in (runs, in_next, in_other_group, runs):
        for attempt in range(1, 9):
            executor.together([run.at(attempt) for run in each])
    eight = [tuple(drawn[at : at + 8]) for at in range(0, 32, 8)]
    assert eight[3] == eight[0]  # no clock and no state decides it
    assert len({*eight}) == 3
    assert min(len({*each}) for each in eight) > 1
