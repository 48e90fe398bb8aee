"""The gateway's application: Starlette, aiohttp as client and asyncpg, on uvicorn."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from typing import Any

import aiohttp
import asyncpg
import starlette
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from workers import Worker
from workers.workloads.parts.servers.on_uvicorn import OnUvicorn

QUERY = "select a, b from row where a = $1"
NO_LIMIT = aiohttp.ClientTimeout(total=None)  # the deadline is the request's, not the client's


@dataclass(frozen=True)
class Budget:
    """Limits of one loop. `deadline_s` None: a request is never given up; `in_flight` 0: any."""

    deadline_s: float | None
    in_flight: int
    db_connections: int


@dataclass
class Counts:
    """Outcomes of the requests of one loop; `in_flight` are those of this moment."""

    deadline_missed: int = 0
    refused: int = 0
    calls_cancelled: int = 0
    queries_cancelled: int = 0
    in_flight: int = 0
    requests_in_flight_max: int = 0

    def figures(self) -> dict[str, float]:
        """The counts as figures of the record."""
        totals = {each.name: getattr(self, each.name) for each in fields(self)[:4]}
        return {
            **{f"{name}_total": float(count) for name, count in totals.items()},
            "requests_in_flight_max": float(self.requests_in_flight_max),
        }


def make(
    worker: Worker, budget: Budget, counts: Counts, database: str, downstream: str, rows: int
) -> OnUvicorn:
    """Make the server of one worker. `database` and `downstream` are URLs."""
    return OnUvicorn(
        worker,
        lambda: application(budget, counts, database, downstream, rows),
        framework=f"Starlette {starlette.__version__}, asyncpg {asyncpg.__version__}, "
        f"aiohttp {aiohttp.__version__}",
    )


def application(
    budget: Budget, counts: Counts, database: str, downstream: str, rows: int
) -> Starlette:
    """Make the application of one loop."""
    keys = random.Random()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        size = budget.db_connections
        async with (
            asyncpg.create_pool(database, min_size=size, max_size=size) as pool,
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=NO_LIMIT
            ) as session,
        ):
            yield {"pool": pool, "session": session}

    async def call(session: aiohttp.ClientSession) -> int:
        try:
            async with session.get(downstream, raise_for_status=True) as response:
                return len(await response.read())
        except asyncio.CancelledError:
            counts.calls_cancelled += 1
            raise

    async def query(pool: "asyncpg.Pool[Any]") -> Any:
        try:
            return await pool.fetchrow(QUERY, keys.randint(1, rows))
        except asyncio.CancelledError:
            counts.queries_cancelled += 1
            raise

    async def answer(request: Request) -> Response:
        if budget.in_flight and counts.in_flight >= budget.in_flight:
            counts.refused += 1
            return PlainTextResponse("too many requests", 503, {"retry-after": "1"})
        counts.in_flight += 1
        counts.requests_in_flight_max = max(counts.requests_in_flight_max, counts.in_flight)
        try:
            async with asyncio.timeout(budget.deadline_s), asyncio.TaskGroup() as both:
                called = both.create_task(call(request.state.session))
                queried = both.create_task(query(request.state.pool))
        except TimeoutError:
            counts.deadline_missed += 1
            return PlainTextResponse("the deadline has passed", 504)
        finally:
            counts.in_flight -= 1
        return JSONResponse({**queried.result(), "downstream_bytes": called.result()})

    return Starlette(routes=[Route("/", answer)], lifespan=lifespan)
