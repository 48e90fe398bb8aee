"""Runs with services take turns: each has services of its own, which are read in slices alone."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from scaling.journal.record import ServiceUse
from scaling.run.child import Ending
from scaling.run.services import Services
from tests.support.children import record_of
from tests.support.serving import WARMUP_S, load_asked, load_of, run_beside, taking_turns
from workers.workloads.web import Web

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_build,
    pytest.mark.needs("stops"),
]

WINDOW_S = 0.5
CONNECTIONS = 4
ROUNDED_S = 0.05  # CPU time of a whole service is read in ticks of 10 ms a process
CELL = {"workers": 2, "warmup_s": WARMUP_S, "window_s": WINDOW_S}

type Done = tuple[Ending, dict[str, ServiceUse]]


def together(
    services: Services, cells: Sequence[Mapping[str, Any]], needs: Sequence[str]
) -> list[Done]:
    """Runs of two workers; those of a server are loaded."""
    with ExitStack() as stack:
        found = []
        for cell in cells:
            keep_alive = cell["parameters"].get("keep_alive")
            load = None if keep_alive is None else load_asked(CONNECTIONS, keep_alive=keep_alive)
            beside = run_beside(services, {**CELL, **cell}, needs=needs, load=load, in_slices=True)
            found.append(stack.enter_context(beside))
        endings, _ = taking_turns([run for run, _ in found], found[0][0].cell["window_s"])
    return [(ending, usage.use()) for ending, (_, usage) in zip(endings, found, strict=True)]


def test_clients_have_a_site_each(services: Services) -> None:
    """They are stopped, it is not: what is in flight is answered while others have their turn."""
    cell = {"workload": "scrape", "parameters": {"pages": 2}, "ticks": 8, "window_s": 0.3}
    cells = [{**cell, "model": model} for model in ("threads", "processes")]
    for ending, used in together(services, cells, ["site"]):
        record = record_of(ending)
        assert record.in_slices
        for worker in record.workers:
            assert (worker.errors, worker.error_samples) == (0, [])
            assert worker.ticks.operations[-1] > worker.ticks.operations[0]
        site = used["site"]
        assert site.window_cpu_s is not None
        assert site.cpu_s is not None
        assert 0 < site.window_cpu_s < site.cpu_s
        assert site.busy_fraction
        assert ending.out_of_turn_cpu_s is not None
        assert ending.out_of_turn_cpu_s < site.cpu_s  # no more than what is in flight


def is_right(done: Done) -> None:
    ending, used = done
    load = load_of(ending)
    assert load.errors == {}
    assert load.unfinished.count == []
    assert record_of(ending).in_slices
    for name, each in used.items():
        assert each.window_cpu_s is not None, name
        assert 0 < each.window_cpu_s <= (each.cpu_s or 0.0) + ROUNDED_S
        assert each.busy_fraction
    assert ending.out_of_turn_cpu_s is not None
    assert ending.out_of_turn_cpu_s < ending.elapsed_s / 2


@pytest.mark.needs("servers", "nginx", "pgbouncer")
def test_stacks_are_loaded_in_turn(services: Services) -> None:
    """One with a connection for each request."""
    rows = {"workload": "workers.workloads.web:Web", "in_flight": CONNECTIONS, "model": "threads"}
    asked = {"rows": 1_000, "db_connections": 4}
    around = {**asked, "stack": "starlette/loops", "proxy": "nginx", "pooler": "pgbouncer"}
    flask = {**asked, "stack": "flask/gunicorn-gthread", "keep_alive": False}
    parameters = ({**around, "keep_alive": True}, flask)
    done = together(services, [{**rows, "parameters": each} for each in parameters], Web.services)
    for each in done:
        is_right(each)
    assert [{*used} for _, used in done] == [{"postgres", "nginx", "pgbouncer"}, {"postgres"}]
    assert [load_of(ending).keep_alive for ending, _ in done] == [True, False]
    assert record_of(done[1][0]).facts["driver"].startswith("psycopg ")
    for _, used in done:  # nobody else's
        connections = used["postgres"].connections
        assert connections is not None
        assert 0 < connections <= 4
