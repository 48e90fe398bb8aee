"""A million HTTP requests with aiohttp, against a server in processes of its own that waits."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import aiohttp

from workers import Worker, Workload, parameter
from workers.workloads.parts.http_client import client_facts, service_url

OUTCOMES = ("ok", "http_error", "client_error", "timeout")

type FetchOne = Callable[[Worker, int], Awaitable[None]]


@dataclass
class Fetch(Workload):
    """HTTP GETs with aiohttp, thousands in flight: distinct URLs, one session a worker.

    One operation: one GET answered with status 200 and a body of the right length, read to its
    end. A million URLs, 5,000 in flight, 10 ms of delay, bodies of 1 KiB and the 10 s time-out are
    those of the article's second benchmark (johal-2024). There a list of 5,000 tasks is gone
    through at every answer; here each of 5,000 tasks asks for the next URL when it has its answer,
    so that the requests are measured and not the list. Connections are opened as they are needed,
    within the measured time, as there.

    Every outcome is one of four, and all but the first are errors: `ok_total`, `http_error_total`
    (another status or length), `client_error_total` (no connection, or a broken one) and
    `timeout_total`.

    The figure is the client's: the server's share runs in other processes, on the same machine.
    With `timed`, latencies are not the server's either. A loop that is busy answers as fast as it
    can whatever is in flight, so more in flight wait for longer, in the client's own queue: by
    Little's law in flight / throughput, which is told as `littles_law_s` to be set beside the
    mean. Only where that falls to `delay_ms` does the server decide.
    """

    operation = "responses"
    finite = True
    scaled = ("requests", "requests_in_flight")
    in_flight = "requests_in_flight"
    descriptors = 1
    services = ("responder",)

    requests: int = parameter(1_000_000, "URLs that each worker fetches", at_least=1)
    requests_in_flight: int = parameter(5_000, "requests on their way per worker", at_least=1)
    delay_ms: int = parameter(10, "what the server waits before an answer, ms", at_least=0)
    body_bytes: int = parameter(1_024, "bytes of an answer's body", at_least=0)
    timeout_s: float = parameter(10.0, "for one request, all in all, s", at_least=0.001)
    timed: bool = parameter(False, "record how long each request took, whatever its outcome")

    def facts(self) -> dict[str, str]:
        """Tell the client in use."""
        return client_facts()

    async def setup(self, worker: Worker) -> None:
        """Open the worker's own session; no connection yet."""
        self._session: aiohttp.ClientSession | None = None
        self._url = service_url(worker, "responder", "fetch needs a server")
        self._outcomes = dict.fromkeys(OUTCOMES, 0)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.requests_in_flight),
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
        )

    async def run(self, worker: Worker) -> None:
        """Fetch every URL of this worker's once, and class what came of it."""
        first = worker.index * self.requests
        numbers = iter(range(first, first + self.requests))  # one for all: each number is once
        fetch = self._fetch_timed if self.timed else self._fetch
        in_flight = min(self.requests_in_flight, self.requests)
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(self._fetch_all(worker, numbers, fetch))
        took_s = time.monotonic() - began
        worker.figures |= {f"{outcome}_total": n for outcome, n in self._outcomes.items()}
        worker.figures["littles_law_s"] = in_flight * took_s / self.requests

    async def teardown(self, worker: Worker) -> None:
        """Close the session; its sockets need a turn of the loop to be gone."""
        del worker
        if self._session:
            await self._session.close()
            await asyncio.sleep(0)

    async def _fetch_all(self, worker: Worker, numbers: Iterator[int], fetch: FetchOne) -> None:
        for number in numbers:
            await fetch(worker, number)

    async def _fetch_timed(self, worker: Worker, number: int) -> None:
        began_ns = time.perf_counter_ns()
        await self._fetch(worker, number)
        worker.latency(time.perf_counter_ns() - began_ns)

    async def _fetch(self, worker: Worker, number: int) -> None:
        """Fetch one URL; count its outcome, and the operation where it is `ok`."""
        assert self._session
        try:
            async with self._session.get(
                f"{self._url}/?id={number}", allow_redirects=False
            ) as response:
                body = await response.read()
        except TimeoutError:  # first: some of aiohttp's are client errors, too
            outcome, told = "timeout", f"no answer in {self.timeout_s:g} s"
        except aiohttp.ClientError as error:
            outcome, told = "client_error", f"{type(error).__name__}: {error}"
        else:
            if response.status == 200 and len(body) == self.body_bytes:
                self._outcomes["ok"] += 1
                worker.operations += 1
                worker.bytes += len(body)
                return
            outcome, told = "http_error", f"status {response.status}, {len(body)} bytes"
        self._outcomes[outcome] += 1
        worker.fail(f"URL {number}: {told}")
