"""HTTP GETs with aiohttp, against a server in a separate process that answers after a delay."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import aiohttp

from workers import Worker, Workload, parameter
from workers.workloads.parts.clients import client_facts, service_url

OUTCOMES = ("ok", "http_error", "client_error", "timeout")


@dataclass
class Fetch(Workload):
    """HTTP client: aiohttp GETs of distinct URLs, thousands in flight, one session per worker.

    One operation: one GET answered with status 200 and a body of the right length, read to its
    end. A million URLs, 5,000 in flight, a delay of 10 ms, bodies of 1 KiB and a timeout of 10 s
    are the parameters of johal-2024's second benchmark. That program scans a list of 5,000 tasks
    at every answer. Here each of 5,000 tasks requests the next URL once it has its answer, so that
    requests are measured, not the list. Connections are opened on demand, within the measured time,
    as there.

    Each request has one of four outcomes, and all but the first are errors: `ok_total`,
    `http_error_total` (another status or length), `client_error_total` (no connection, or a broken
    one) and `timeout_total`.

    The figure is the client's: the server runs in other processes, on the same machine. With
    `timed`, latencies are mostly the client's, too. A busy loop has a fixed throughput, so with
    more requests in flight each waits longer in the client's own queue: by Little's law for
    in flight / throughput, which is reported as `littles_law_s` for comparison with the mean
    latency. Only where that is close to `delay_ms` do latencies show the server.
    """

    operation = "responses"
    finite = True
    scaled = ("requests", "requests_in_flight")
    in_flight = "requests_in_flight"
    descriptors = 1
    services = ("responder",)
    alone = "its service answers while it is stopped"

    requests: int = parameter(1_000_000, "URLs fetched per worker", at_least=1)
    requests_in_flight: int = parameter(5_000, "requests in flight per worker", at_least=1)
    delay_ms: int = parameter(10, "delay before the server answers, ms", at_least=0)
    body_bytes: int = parameter(1_024, "bytes in the body of an answer", at_least=0)
    timeout_s: float = parameter(10.0, "time limit for one whole request, s", at_least=0.001)
    timed: bool = parameter(False, "record the latency of every request, whatever its outcome")

    def facts(self) -> dict[str, str]:
        return client_facts()

    async def setup(self, worker: Worker) -> None:
        """Open the worker's own session; it has no connection yet."""
        self._session: aiohttp.ClientSession | None = None
        self._url = service_url(worker, "responder", "fetch")
        self._outcomes = dict.fromkeys(OUTCOMES, 0)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.requests_in_flight),
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
        )

    async def run(self, worker: Worker) -> None:
        first = worker.index * self.requests
        numbers = iter(
            range(first, first + self.requests)
        )  # shared by all tasks, so each number is used once
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
        """Close the session; its sockets are closed in the loop's next iteration."""
        if self._session:
            await self._session.close()
            await asyncio.sleep(0)

    async def _fetch_all(
        self,
        worker: Worker,
        numbers: Iterator[int],
        fetch: Callable[[Worker, int], Awaitable[None]],
    ) -> None:
        for number in numbers:
            await fetch(worker, number)

    async def _fetch_timed(self, worker: Worker, number: int) -> None:
        began_ns = time.perf_counter_ns()
        await self._fetch(worker, number)
        worker.latency(time.perf_counter_ns() - began_ns)

    async def _fetch(self, worker: Worker, number: int) -> None:
        """Fetch one URL; count its outcome, and an operation if it is `ok`."""
        assert self._session
        try:
            async with self._session.get(
                f"{self._url}/?id={number}", allow_redirects=False
            ) as response:
                body = await response.read()
        except TimeoutError:  # first: some of aiohttp's timeouts are also client errors
            outcome, reason = "timeout", f"no answer in {self.timeout_s:g} s"
        except aiohttp.ClientError as error:
            outcome, reason = "client_error", f"{type(error).__name__}: {error}"
        else:
            if response.status == 200 and len(body) == self.body_bytes:
                self._outcomes["ok"] += 1
                worker.operations += 1
                worker.bytes += len(body)
                return
            outcome, reason = "http_error", f"status {response.status}, {len(body)} bytes"
        self._outcomes[outcome] += 1
        worker.fail(f"URL {number}: {reason}")
