"""Each collection inside the window of a served run is in its record; those before it are not."""

import gc
from collections.abc import Iterator

import pytest

from scaling.run.child import Ending
from tests.support.children import FREE_THREADED
from tests.support.serving import served
from workers.readback.gil import GilWatch
from workers.readback.process import MOST_SPANS, Collections, Readback


@pytest.fixture
def noted() -> Iterator[Collections]:
    found = Collections()
    found.install()
    yield found
    gc.callbacks.pop()


def test_a_collection_has_start_length_and_generation(noted: Collections) -> None:
    noted.begin(0)
    gc.collect()
    starts, pauses, generations = (noted.columns[name] for name in noted.columns)
    assert len(starts) == noted.count >= 1
    assert sum(pauses) == noted.pause_ns > 0
    assert starts == sorted(starts)
    assert 2 in generations


def test_what_begins_before_the_window_does_not_count(noted: Collections) -> None:
    gc.collect()
    noted.begin(2**62)
    gc.collect()
    assert (noted.count, noted.pause_ns, noted.spans) == (0, 0, [])


def test_a_record_stays_small() -> None:
    found = Collections()
    for _ in range(MOST_SPANS + 5):
        found._on_collection("start", {"generation": 0})
        found._on_collection("stop", {"generation": 0})
    assert found.count == MOST_SPANS + 5
    assert [len(each) for each in found.columns.values()] == [MOST_SPANS] * 3


@pytest.mark.slow
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_every_collection_of_a_served_window_is_recorded(model: str) -> None:
    asked = {"server": "tcp", "garbage_per_request": 200}
    ending = served("serve", model=model, workers=2, gc_threshold=1_000, parameters=asked)
    assert_in_window(ending, model)


def assert_in_window(ending: Ending, model: str) -> None:
    record = ending.record
    assert record
    assert ending.outcome == "measured", record.failure
    every = [record.process] if model == "threads" else [w.process for w in record.workers]
    opened, closed = record.instants_ns.opened, record.instants_ns.measured
    assert opened
    assert closed
    for process in every:
        assert process
        spans = process.gc_spans
        assert spans
        assert len(spans.start_ns) == process.gc_collections
        assert all(opened <= start <= closed for start in spans.start_ns)
    counts = [len(each.gc_spans.start_ns) for each in every if each and each.gc_spans]
    assert sum(counts) > 0 or FREE_THREADED  # whose collector waits until memory has grown


def test_runs_without_clients_stay_as_small_as_they_were() -> None:
    readback = Readback(GilWatch())
    readback.opened()
    readback.closed()
    assert readback.result(debug=False)["gc_spans"] is None
