"""`fetch` requests every URL once and classifies each outcome: only a correct answer counts."""

import asyncio
import time
from collections.abc import Callable, Iterator
from operator import mul

import pytest
from aiohttp import web

from scaling.journal.record import Record
from tests.support.children import PATIENCE_S, each_case, finish
from tests.support.in_process import answering
from tests.support.servers import running_responder
from workers import Worker
from workers.services.serving import listen, url_of
from workers.workloads.fetch import Fetch

type Answer = Callable[[int], web.StreamResponse | None]  # to the request of this number


async def fetched(url: str, index: int = 0, **parameters: float | bool) -> Worker:
    worker = Worker(index, 2, {"responder": [url]})
    workload = Fetch(**{"requests": 40, "requests_in_flight": 8, **parameters})  # type: ignore[arg-type]
    await workload.setup(worker)
    async with asyncio.timeout(PATIENCE_S):
        try:
            await workload.run(worker)
        finally:
            await workload.teardown(worker)
    return worker


def outcomes(worker: Worker) -> dict[str, float]:
    return {name: n for name, n in worker.figures.items() if name.endswith("_total") and n}


def ask(
    answer: Answer, asked: list[str] | None = None, index: int = 0, **parameters: int
) -> Worker:
    def noted(request: web.BaseRequest) -> web.StreamResponse | None:
        if asked is not None:
            asked.append(request.raw_path)
        return answer(int(request.query["id"]))

    async def both() -> Worker:
        async with answering(noted) as url:
            return await fetched(url, index, **parameters)

    return asyncio.run(both())


def right(number: int) -> web.Response:
    return web.Response(body=bytes(1024))


@pytest.mark.one_build
def test_every_url_is_asked_for_once_and_counts() -> None:
    """Each worker has URLs of its own."""
    asked: list[str] = []
    ask(right, asked, index=1)
    assert sorted(asked) == sorted(f"/?id={number}" for number in range(40, 80))
    asked.clear()
    worker = ask(right, asked)
    assert sorted(asked) == sorted(f"/?id={number}" for number in range(40))
    assert (worker.operations, worker.errors, worker.bytes) == (40, 0, 40 * 1024)
    assert outcomes(worker) == {"ok_total": 40}


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("wrong", "outcome", "message"),
    [
        (lambda: web.Response(status=503), "http_error_total", "status 503, 0 bytes"),
        (lambda: web.Response(body=bytes(1023)), "http_error_total", "status 200, 1023 bytes"),
        (
            lambda: web.Response(status=302, headers={"Location": "/?id=0"}),
            "http_error_total",
            "status 302",
        ),
        (lambda: None, "client_error_total", "ServerDisconnectedError"),
    ],
)
def test_a_wrong_answer_is_an_error_of_its_class(
    wrong: Callable[[], web.StreamResponse | None], outcome: str, message: str
) -> None:
    """One in four is wrong; the others count."""
    worker = ask(lambda number: wrong() if number % 4 == 3 else right(number))
    assert (worker.operations, worker.errors) == (30, 10)
    assert outcomes(worker) == {"ok_total": 30, outcome: 10}
    assert message in worker.error_samples[0]


@pytest.mark.one_build
def test_a_server_that_takes_too_long_is_a_time_out() -> None:
    with listen("127.0.0.1", 0) as silent:  # the kernel connects, and nobody answers
        worker = asyncio.run(fetched(url_of(silent), requests=8, timeout_s=0.05))
    assert (worker.operations, worker.errors) == (0, 8)
    assert outcomes(worker) == {"timeout_total": 8}
    assert worker.error_samples[0].endswith("no answer in 0.05 s")


@pytest.mark.one_build
def test_a_server_that_is_gone_is_a_client_error() -> None:
    with listen("127.0.0.1", 0) as closed:
        url = url_of(closed)
    worker = asyncio.run(fetched(url))
    assert (worker.operations, worker.errors) == (0, 40)
    assert outcomes(worker) == {"client_error_total": 40}
    assert "ClientConnectorError" in worker.error_samples[0]
    with pytest.raises(ValueError, match=r"python -m workers\.services\.responder"):
        asyncio.run(Fetch().setup(Worker(0, 1, {})))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_responder() as running:
        yield running


def run(url: str, model: str = "threads", loop: str = "asyncio", **parameters: bool) -> Record:
    """Two workers' record; a resource left open would be reported."""
    sizes = {"requests": 300, "requests_in_flight": 60}
    cell = {"workload": "fetch", "model": model, "loop": loop, "workers": 2}
    cell |= {"parameters": sizes | parameters, "services": {"responder": [url]}}
    done = finish(cell, PYTHONWARNINGS="error")
    assert (done.code, done.stderr) == (0, "")
    return done.record


@pytest.mark.slow
@each_case(
    ("model", "loop"),
    [
        *(("threads", "uvloop"), ("processes", "uvloop"), ("interpreters", "asyncio")),
    ],
)
def test_it_is_the_same_under_every_model_and_loop(url: str, model: str, loop: str) -> None:
    record = run(url, model, loop)
    assert record.finite
    for worker in record.workers:
        assert (worker.ticks.operations[-1], worker.errors, worker.pending_tasks) == (300, 0, 0)
        assert worker.figures["ok_total"] == 300
        assert worker.latency is None
    assert record.facts["http_parser"] == ("python" if model == "interpreters" else "c")


@pytest.mark.slow
@pytest.mark.one_build
def test_latencies_are_what_littles_law_predicts() -> None:
    """At most: while the last ones are awaited, fewer are in flight than there may be.

    All are in flight for 0.6 s, at least. A stall of the machine's while only the last one is
    awaited is shorter than three times that. What is fewer than may be in flight is in flight.
    """
    with running_responder("--delay-ms=120") as url:
        workers = run(url, timed=True).workers
    for worker in workers:
        known = worker.latency
        assert known
        assert sum(known.count) == 300
        mean_s = sum(map(mul, known.value_ns, known.count)) / 300 / 1e9
        predicted_s = worker.figures["littles_law_s"]
        assert predicted_s / 4 < mean_s <= predicted_s
    began = time.monotonic()
    few = ask(right, requests=5, requests_in_flight=1000)
    assert outcomes(few) == {"ok_total": 5}
    assert few.figures["littles_law_s"] <= time.monotonic() - began  # all five at once
