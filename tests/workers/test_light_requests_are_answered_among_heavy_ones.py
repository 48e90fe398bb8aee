"""The workload `mix` answers light and heavy requests alike on loops and in threads without one."""

import sys
from typing import Any, Final

import pytest

from scaling.run.child import Ending
from tests.support.children import FREE_THREADED
from tests.support.serving import served
from workers.cell import Cell
from workers.outside.commands import command_line
from workers.workloads.mix import Mix
from workers.workloads.parts.mixed import BODY, heavy_path, heavy_work, wsgi

GTHREAD: Final = "gunicorn-gthread"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def run(model: str = "threads", **parameters: Any) -> Ending:
    """One run of two workers; a heavy request is one millisecond, and a third of all are."""
    asked = {"heavy_ms": 1.0, "heavy_percent": 33.0, **parameters}
    return served("mix", model=model, workers=2, parameters=asked)


def measured(ending: Ending) -> Any:
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.load
    assert ending.load.errors == {}
    light, heavy = sum(ending.load.latency.count), sum(ending.load.background.count)
    assert min(light, heavy) > 0
    assert light + heavy + sum(ending.load.unfinished.count) == ending.load.offered
    return ending.record


@pytest.mark.slow
@pytest.mark.parametrize("heavy", ["python", "native"])
@pytest.mark.parametrize("heavy_in", ["loop", "thread"])
def test_loops_answer_and_report_where_heavy_work_was_done(heavy: str, heavy_in: str) -> None:
    record = measured(run(heavy=heavy, heavy_in=heavy_in))
    assert record.facts["heavy_in"] == heavy_in
    assert record.facts["server"].startswith("uvicorn ")


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_threads_without_loops_answer_the_same_requests(model: str) -> None:
    record = measured(run(model, server=GTHREAD))
    assert record.loop.class_ == "none"
    assert record.facts["server"] == GTHREAD
    assert record.outside.processes == (3 if model == "processes" else 2)
    assert record.process.free_threaded is FREE_THREADED
    assert record.process.gil.closed is not FREE_THREADED


def test_both_sides_can_have_as_many_requests_in_flight() -> None:
    mix = Mix(server=GTHREAD, connections=8)
    assert "--workers 1 --threads 24 " in command_line(mix, 3, "asyncio", "threads")
    assert "--workers 3 --threads 8 " in command_line(mix, 3, "asyncio", "processes")


@pytest.mark.parametrize("parameters", [{"server": GTHREAD}, {"server": "loops"}])
def test_a_command_is_measured_from_outside_and_a_loop_from_inside(
    parameters: dict[str, str],
) -> None:
    for name in ("mix", "workers.workloads.mix:Mix"):
        assert Cell(name, parameters).outside is (parameters["server"] == GTHREAD)


def test_a_heavy_request_says_how_much_work_it_is() -> None:
    light, heavy = Mix(heavy="native", heavy_ms=20, heavy_percent=5).client_requests()
    assert heavy_work(light["path"]) is None
    assert heavy["path"] == heavy_path("native", 20)
    work = heavy_work(heavy["path"])
    assert work is not None
    assert work.args == (60_000,)  # type: ignore[attr-defined]
    assert (light["weight"], heavy["weight"], heavy["background"]) == (95, 5, True)


@pytest.mark.parametrize("path", ["/", "/python", "/python/x", "/python/-1", "/other/5", ""])
def test_any_other_path_is_not_found(path: str) -> None:
    said: list[str] = []
    body = wsgi({"PATH_INFO": path}, lambda status, _headers: said.append(status))
    assert (said, list(body)) == (["404 Not Found"], [])


def test_the_wsgi_application_answers_light_and_heavy_requests_alike() -> None:
    for path in ("/light", heavy_path("python", 0.01), heavy_path("native", 0.01)):
        said: list[str] = []
        body = wsgi({"PATH_INFO": path}, lambda status, _headers, said=said: said.append(status))
        assert (said, list(body)) == (["200 OK"], [BODY])


def test_without_a_share_there_is_no_request_of_that_kind() -> None:
    assert [each["path"] for each in Mix(heavy_percent=0).client_requests()] == ["/light"]
