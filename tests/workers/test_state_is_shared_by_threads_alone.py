"""What workers read: threads share it, forked processes until they read it, fresh ones never."""

from functools import cache
from itertools import groupby
from typing import Any, get_args, get_type_hints

import pytest

from tests.support.children import FREE_THREADED, Own, driven, finish, pss_mib
from workers.describe import load_choices
from workers.worker.workload import build, parameters_of
from workers.workloads.parts.lookups import DRAWN, drawn, part_of
from workers.workloads.state import KINDS, OnState, State
from workers.workloads.state_pass import StatePass

OBJECTS = 1000


def made(kind: str, **values: Any) -> Any:
    return build(StatePass, {"kind": kind, "objects": OBJECTS, "made_by": "loop", **values}).state()  # type: ignore[attr-defined]


@pytest.mark.one_build
@pytest.mark.parametrize("kind", KINDS)
def test_every_object_is_another_one_and_what_is_read_is_what_was_made(kind: str) -> None:
    objects = made(kind)
    for keys in (range(OBJECTS), [7, 7, 999], []):
        assert KINDS[kind].read(objects, keys) == KINDS[kind].expected(keys)
    if isinstance(objects, list):
        assert len({id(each) for each in objects}) == OBJECTS


def test_every_kind_is_declared_once_and_described_without_its_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OnState, "_make", lambda _: pytest.fail("made"))
    tried = load_choices(State).items()
    refused = {values: each.refused for values, each in tried if each.refused is not None}
    assert all("--with pandas" in why for why in refused.values())
    assert set(refused) <= {(("kind", "frame"),)}
    assert list(KINDS) == parameters_of(State)["kind"]["choices"]
    assert list(get_args(get_type_hints(OnState)["kind"])) == list(KINDS)
    assert State.holds
    assert State.holds.bytes_each.keys() == KINDS.keys()


# ------------------------------------------------------------------------------ which keys are read


@pytest.mark.one_build
@pytest.mark.parametrize("percent", [0.0, 1.0])
def test_a_part_has_its_share_of_the_keys_scattered_over_all(percent: float) -> None:
    objects = 100_000
    part = part_of(objects, percent)
    assert len(set(part)) == len(part)
    assert len(part) == pytest.approx(objects * percent / 100, rel=0.1)
    tenths = [len(list(keys)) for _, keys in groupby(part, key=lambda key: key // (objects // 10))]
    if percent:
        assert len(tenths) == 10
        assert min(tenths) > 0.7 * max(tenths)


@pytest.mark.one_build
@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_keys_are_as_hot_as_a_zipf_law_says(exponent: float) -> None:
    objects = 50
    counts = [0] * objects
    for key in drawn(range(objects), exponent):
        counts[key] += 1
    total = sum(rank**-exponent for rank in range(1, objects + 1))
    for rank, count in enumerate(sorted(counts, reverse=True), start=1):
        assert count / DRAWN == pytest.approx(rank**-exponent / total, rel=0.15)


# ------------------------------------------------------------------------------ who shares what


@pytest.mark.slow
@pytest.mark.one_build
def test_a_state_that_is_not_the_one_that_was_made_is_found(own: Own) -> None:
    failure = own.failure("""
        from workers.workloads.state import State

        class Theirs(State):
            def state(self):
                made = super().state()
                made[3]["id"] = 4
                return made
        """)
    assert failure.phase == "setup"
    assert failure.error == ("RuntimeError: the state that was read is not the one that was made")


@pytest.mark.slow
@pytest.mark.one_build
def test_memory_of_an_extra_worker_depends_on_who_shares_the_objects_and_who_has_read_them() -> (
    None
):
    """A fresh process takes all of the state, a forked one nothing until it has read it."""
    state = 100_000

    def extra_mib(model: str, **parameters: object) -> float:
        return memory_mib(model, 2, **parameters) - memory_mib(model, 1, **parameters)

    @cache
    def memory_mib(model: str, workers: int, **parameters: object) -> float:
        cell = {"workload": "state", "parameters": {"objects": state, **parameters}}
        warm = {"warmup_s": 0.1}  # to have read many of them
        return pss_mib(driven({**cell, **warm, "model": model, "workers": workers}))

    whole = memory_mib("threads", 1) - memory_mib("threads", 1, objects=1)
    assert whole > 20
    assert extra_mib("threads") < 0.3 * whole
    assert extra_mib("processes") > 0.9 * whole
    assert extra_mib("forked", read_percent=0.0) < 0.3 * whole
    unread, read = (memory_mib("forked", 2, read_percent=percent) for percent in (0.0, 100.0))
    assert read > unread + 0.6 * whole  # each of two copies


@pytest.mark.slow
def test_deferred_counts_are_asked_for_where_there_are_any() -> None:
    cell = {"workload": "state-pass", "parameters": {"objects": OBJECTS, "deferred": True}}
    done = finish(cell)
    if FREE_THREADED:
        assert done.record.workers[0].errors == 0
        strings = {**cell["parameters"], "kind": "strings"}  # type: ignore[dict-item]
        done = finish({**cell, "parameters": strings})
    says = "no object of this kind can have its reference count deferred"
    assert says in done.failure.error
