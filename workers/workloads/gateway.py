"""An API gateway: a call downstream and a query per request, within a deadline."""

from dataclasses import dataclass
from typing import Any

from workers import Worker, parameter
from workers.cell import share
from workers.limits import CONNECTIONS_MOST
from workers.workloads.parts.first_request import check_row, first_answer
from workers.workloads.parts.served import WITHOUT_HTTPTOOLS, Served
from workers.workloads.parts.servers import BaseServer

OK, REFUSED, MISSED = 200, 503, 504


@dataclass
class Gateway(Served):
    """Requests that need a call of a service downstream and a row of a database, within a deadline.

    One operation: one request answered, whatever the answer. The application is Starlette on
    uvicorn with httptools. Each worker has its own, with its own HTTP client (aiohttp) and its own
    share of the database connections (an asyncpg pool). Call and query run at the same time. At the
    deadline what is left of them is cancelled, and the answer is status 504. With `in_flight_limit`
    a worker that has so many requests in flight refuses the next one with status 503. Neither is
    an error: clients count them as declined. Latencies are those of good answers.

    The deadline counts from when the application has a request, latency from when it was due: a
    request that finds all connections busy waits at the client first.

    The service downstream answers after `delay_ms`; with `delay_spread`, delays are log-normal.
    With the defaults their P99 is 64 ms.

    With `overload_factor`, that many times `rate_per_s` is due for `overload_s`, `overload_after_s`
    after the start of the window. The time until the P99 is back is a column.

    Figures: `deadline_missed_total`, `refused_total`, `calls_cancelled_total` and
    `queries_cancelled_total` since the first request, and `requests_in_flight_max`.
    """

    descriptors = 2  # the client's connection, and one to the service downstream
    services = ("postgres", "responder")
    alone = "its services answer after a delay"
    no_interpreters = WITHOUT_HTTPTOOLS

    connections: int = parameter(
        512, "connections per worker", at_least=1, at_most=CONNECTIONS_MOST
    )
    deadline_ms: int = parameter(1_000, "ms until a request is given up; 0: never", at_least=0)
    in_flight_limit: int = parameter(
        0, "requests in flight per worker beyond which one is refused; 0: no limit", at_least=0
    )
    delay_ms: float = parameter(20.0, "median delay of the service downstream, ms", at_least=0)
    delay_spread: float = parameter(
        0.5, "standard deviation of the delay's logarithm; 0: equal delays", at_least=0
    )
    body_bytes: int = parameter(1_024, "bytes in the body of its answer", at_least=0)
    rows: int = parameter(1_000_000, "rows in the database", at_least=1)
    db_connections: int = parameter(
        16, "database connections of all workers, at least one each", at_least=1
    )
    overload_factor: float = parameter(
        0.0, "rate during the overload, times rate_per_s; 0: no overload", at_least=0
    )
    overload_after_s: float = parameter(
        6.0, "s from the start of the window to the overload", at_least=0
    )
    overload_s: float = parameter(10.0, "s that the overload lasts", at_least=0)

    def client_requests(self) -> list[dict[str, Any]]:
        return [{"path": "/", "status": OK, "declined": [REFUSED, MISSED]}]

    def load(self) -> None:
        import workers.workloads.parts.servers.gateway  # noqa: F401 - before threads, and a fork

    async def start(self, worker: Worker) -> BaseServer:
        from workers.workloads.parts.clients import service_url
        from workers.workloads.parts.servers.gateway import Budget, Counts, make

        budget = Budget(
            deadline_s=self.deadline_ms / 1_000 or None,
            in_flight=self.in_flight_limit,
            db_connections=max(1, share(self.db_connections, worker.index, worker.workers)),
        )
        database = service_url(worker, "postgres", "gateway")
        downstream = service_url(worker, "responder", "gateway")
        self._counts = Counts()
        server = make(worker, budget, self._counts, database, downstream, self.rows)
        self._server = server
        await server.start()
        answer = await first_answer(server, self.client_scheme(), {"path": "/"})
        check_row(answer, self.rows)
        self._facts = answer.facts
        return server

    async def run(self, worker: Worker) -> None:
        await super().run(worker)
        worker.figures |= self._counts.figures()
