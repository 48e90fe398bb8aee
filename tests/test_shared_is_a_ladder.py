"""`shared` has a rung for every way of sharing, and runs only where something is shared."""

from typing import get_args

import pytest

from tests.children import finish, measured
from workers.workloads.shared import RUNGS, Shared, Sharing


def test_every_choice_has_a_rung() -> None:
    assert set(RUNGS) == set(get_args(Sharing))
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


@pytest.mark.parametrize("sharing", RUNGS)
def test_rung_runs_in_two_threads(sharing: str) -> None:
    cell = {"workload": "shared", "workers": 2, "parameters": {"sharing": sharing}}
    for worker in measured(cell).workers:
        assert worker.ticks.operations[-1] > 0
        assert worker.ticks.errors[-1] == 0


@pytest.mark.parametrize("model", ["processes", "interpreters"])
def test_other_models_are_refused(model: str) -> None:
    done = finish({"workload": "shared", "model": model})
    assert done.code == 1
    assert done.record.failure is not None
    assert done.record.failure.error == (
        "RefusedError: nothing is shared between workers of this model"
    )
    assert Shared.refuses(model, "asyncio") is not None
    assert Shared.refuses("threads", "asyncio") is None
