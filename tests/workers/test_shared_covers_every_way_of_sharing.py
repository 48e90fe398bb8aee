"""`shared` covers every way of sharing, and runs only where workers can share."""

import asyncio
from typing import get_args

import pytest

from tests.support.children import finish, measured
from workers.readback.refusals import load_choices, refusals
from workers.worker.registry import built_in
from workers.workloads.shared import OF_ONE_LOOP, RUNGS, OfOneLoop, Rung, Shared

SHARED = built_in()["shared"]


def test_every_choice_has_a_rung() -> None:
    assert set(RUNGS) == set(get_args(Rung))
    assert set(OF_ONE_LOOP) == set(get_args(OfOneLoop))
    assert Shared().sharing == "attribute-write"


@pytest.mark.parametrize("sharing", RUNGS)
def test_rung_does_something_for_every_turn(sharing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[str] = []

    class Watched:
        @property
        def value(self) -> int:
            touched.append("read")
            return 1

        @value.setter
        def value(self, _: int) -> None:
            touched.append("written")

        @property
        def lock(self) -> "Watched":
            return self

        def __enter__(self) -> None:
            touched.append("locked")

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("workers.workloads.shared.COMMON", Watched())
    RUNGS[sharing](5)
    expected = {
        "nothing": [],
        "global": [],
        "value": ["read"],
        "attribute-read": ["read"] * 5,
        "attribute-write": ["written"] * 5,
        "lock": ["locked"] * 5,
    }
    assert touched == expected[sharing]


@pytest.mark.slow
@pytest.mark.parametrize("sharing", RUNGS)
def test_rung_runs_in_two_threads(sharing: str) -> None:
    cell = {"workload": "shared", "workers": 2, "parameters": {"sharing": sharing}}
    for worker in measured(cell).workers:
        assert worker.ticks.operations[-1] > 0
        assert worker.ticks.errors[-1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["processes", "interpreters"])
def test_other_models_are_refused(model: str) -> None:
    done = finish({"workload": "shared", "model": model})
    assert done.code == 1
    assert done.record.failure is not None
    assert done.record.failure.error == (
        "RefusedError: workers of this model share nothing; only threads do"
    )
    assert Shared().refuses(model, "asyncio") is not None
    assert Shared().refuses("threads", "asyncio") is None


@pytest.mark.slow
@pytest.mark.parametrize("sharing", OF_ONE_LOOP)
def test_what_is_of_one_loop_is_refused_with_the_reason(sharing: OfOneLoop) -> None:
    name, instead = OF_ONE_LOOP[sharing]
    reason = Shared(sharing=sharing).refuses("threads", "asyncio")
    assert reason is not None
    assert reason.startswith(f"an {name} is for the tasks of one loop")
    assert reason.endswith(f"Use {instead}")
    done = finish({"workload": "shared", "workers": 2, "parameters": {"sharing": sharing}})
    assert done.code == 1
    assert done.record.failure is not None
    assert done.record.failure.error == f"RefusedError: {reason}"


def test_the_plan_prints_it_before_anything_is_run() -> None:
    reasons = {
        each["parameters"]["sharing"]: each["reason"]
        for each in refusals(SHARED, Shared, ["asyncio"], load_choices(Shared), None)
        if each["model"] == "threads"
    }
    assert set(reasons) == set(OF_ONE_LOOP)
    assert reasons["asyncio-lock"] == Shared(sharing="asyncio-lock").refuses("threads", "asyncio")


def test_the_reason_is_true() -> None:
    """A second loop that must wait for an asyncio primitive of the first gets a RuntimeError."""
    lock, event = asyncio.Lock(), asyncio.Event()
    queue: asyncio.Queue[None] = asyncio.Queue()

    async def wait_in_vain() -> None:
        await lock.acquire()
        for waiting in (lock.acquire(), event.wait(), queue.get()):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(waiting, 0.001)

    async def wait_on_another_loop() -> None:
        for waiting in (lock.acquire(), event.wait(), queue.get()):
            with pytest.raises(RuntimeError, match="bound to a different event loop"):
                await waiting

    asyncio.run(wait_in_vain())
    asyncio.run(wait_on_another_loop())
