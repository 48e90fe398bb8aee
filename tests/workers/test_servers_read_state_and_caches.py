"""Requests read what workers share in memory: the state and the caches are those of the loops."""

from typing import Any

import pytest

from scaling.journal.record import ParameterValue, Record
from scaling.run.services import Services
from scaling.study.services import WORKERS, beside
from tests.support.children import FREE_THREADED, each_case
from tests.support.deployed import measured
from tests.support.serving import served
from tests.workers.test_caches_hit_as_often_as_theory_says import POINTS, expected_hits
from workers.worker.workload import parameters_of
from workers.workloads.cache import Cache
from workers.workloads.serve_cache import ServeCache
from workers.workloads.serve_state import ServeState
from workers.workloads.state import State

pytestmark = [pytest.mark.needs("servers")]

KEYS, ENTRIES = 10_000, 1_000
SIZES: dict[str, ParameterValue] = {"keys": KEYS, "entries": ENTRIES, "miss_us": 1.0}


def run(workload: str, model: str, parameters: dict[str, Any], **cell: Any) -> Record:
    ending = served(workload, model=model, workers=2, parameters=parameters, **cell)
    record: Record = measured(ending)
    return record


@pytest.mark.parametrize(("ours", "theirs"), [(ServeState, State), (ServeCache, Cache)])
def test_parameters_are_those_of_the_loops_and_of_servers(ours: Any, theirs: Any) -> None:
    of_ours = parameters_of(ours)
    for name, described in parameters_of(theirs).items():
        assert of_ours[name] == described or name == "connections"
    assert {"rate_per_s", "connections", "accept"} <= of_ours.keys()
    assert ours.holds == theirs.holds
    assert ours.served


@pytest.mark.slow
@pytest.mark.one_build
def test_requests_read_the_state() -> None:
    record = run("serve-state", "forked", {"objects": 1_000, "read_percent": 10.0})
    for worker in record.workers:
        assert worker.ticks.operations[-1] > 0
    assert record.facts["kind"] == "dicts"
    assert record.facts["http_parser"].startswith("httptools")


@pytest.mark.slow
@each_case(
    ("model", "of", "entries"),
    [("threads", "all", ENTRIES), ("processes", "all", ENTRIES // 2)],
)
def test_requests_hit_as_often_as_theory_says(model: str, of: str, entries: int) -> None:
    record = run("serve-cache", model, {**SIZES, "of": of, "lookups": 100}, rate_per_s=None)
    assert record.process.gil.seen == (not FREE_THREADED,) * 4
    assert record.facts["entries"] == str(entries)
    expected = expected_hits("lru_cache", KEYS, entries, 1.0)
    for worker in record.workers:
        assert worker.figures["hit_percent"] == pytest.approx(expected, abs=2 * POINTS)


@pytest.mark.slow
@pytest.mark.one_build
def test_requests_wait_for_a_server(services: Services) -> None:
    asked = {**SIZES, "cache": "valkey", "connections": 4}
    with services.during(beside((), asked), {**asked, WORKERS: 2}) as usage:
        record = run("serve-cache", "threads", asked, services=usage.urls)
    assert all(20 < worker.figures["hit_percent"] < 95 for worker in record.workers)


def test_sub_interpreters_are_refused() -> None:
    for workload in (ServeState, ServeCache):
        refused = workload().refuses("interpreters", "asyncio")
        assert refused
        assert refused.startswith("httptools")
