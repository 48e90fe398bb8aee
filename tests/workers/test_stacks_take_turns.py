"""Full stacks, and connections of one request, take turns: each has services of its own."""

import random
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import ParameterValue, ServiceUse
from scaling.run import stopping
from scaling.run.alternation import in_turn
from scaling.run.child import Child, Ending, Turn, run_child
from scaling.run.load import Generator
from scaling.run.services import Services
from scaling.study.services import beside
from tests.support.children import environment
from tests.support.serving import WARMUP_S, load_asked, program
from workers.workloads.web import Web

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_build,
    pytest.mark.needs("servers"),
    pytest.mark.skipif(not stopping.IS_POSSIBLE, reason=stopping.WHY_NOT),
]

ROWS = 1_000
WINDOW_S = 0.5
CONNECTIONS = 4
ROUNDED_S = 0.05  # CPU time of a whole service is read in ticks of 10 ms a process

type Done = tuple[Ending, dict[str, ServiceUse]]
type Asked = tuple[dict[str, ParameterValue], str]  # parameters and model


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with Services(sys.executable, environment(), data=tmp_path / "kept") as running:
        yield running


def run(
    services: Services, parameters: dict[str, ParameterValue], model: str, turn: Turn | None
) -> Done:
    """One run of two workers."""
    asked = {"rows": ROWS, "db_connections": 4, "keep_alive": True, **parameters}
    in_slices = turn is not None
    load = load_asked(CONNECTIONS, keep_alive=bool(asked["keep_alive"]))
    cell: dict[str, Any] = {
        "workload": "workers.workloads.web:Web",
        "parameters": asked,
        "workers": 2,
        "model": model,
        "in_flight": CONNECTIONS,
        "warmup_s": WARMUP_S,
        "window_s": WINDOW_S,
        "alternating": in_slices,
    }
    with services.during(beside(Web.services, asked), asked, in_slices=in_slices) as usage:
        ending = run_child(
            Child(sys.executable, environment()),
            cell | {"services": usage.urls},
            services_cpu_s=usage.cpu_s,
            generator=Generator(program(), load, in_slices=in_slices),
            front=usage.front,
            watch=usage.watch,
            turn=turn,
        )
    return ending, usage.use()


def together(services: Services, *cells: Asked) -> list[Done]:
    jobs = [partial(run, services, *cell) for cell in cells]
    return in_turn(jobs, WINDOW_S, random.Random(1))[0]


def is_right(done: Done) -> None:
    ending, used = done
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    record, load = ending.record, ending.load
    assert record
    assert load
    assert load.errors == {}
    assert load.unfinished.count == []
    assert record.in_slices
    for name, each in used.items():
        assert each.window_cpu_s is not None, name
        assert 0 < each.window_cpu_s <= (each.cpu_s or 0.0) + ROUNDED_S
        assert each.busy_fraction
    assert ending.out_of_turn_cpu_s is not None
    assert ending.out_of_turn_cpu_s < ending.elapsed_s / 2


@pytest.mark.needs("nginx", "pgbouncer")
def test_stacks_are_loaded_in_turn_each_with_its_own_services(services: Services) -> None:
    around: dict[str, ParameterValue] = {"proxy": "nginx", "pooler": "pgbouncer"}
    cells: list[Asked] = [
        ({"stack": "starlette/loops", **around}, "threads"),
        ({"stack": "starlette/loops", **around}, "processes"),
        ({"stack": "flask/gunicorn-gthread"}, "threads"),
    ]
    done = together(services, *cells)
    for each in done:
        is_right(each)
    assert [len(used) for _, used in done] == [3, 3, 1]
    for _, used in done:  # nobody else's
        connections = used["postgres"].connections
        assert connections is not None
        assert 0 < connections <= 4


def test_connections_of_one_request_are_made_in_turn(services: Services) -> None:
    once: dict[str, ParameterValue] = {"stack": "starlette/loops", "keep_alive": False}
    done = together(services, (once, "threads"), (once, "processes"))
    for each in done:
        is_right(each)
        ending, _ = each
        assert ending.load
        assert not ending.load.keep_alive
        assert ending.load.completed > 3 * CONNECTIONS
