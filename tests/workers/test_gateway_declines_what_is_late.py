"""The gateway's application gives up at the deadline, cancels what is left, and keeps its limit."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from workers.workloads.gateway import Gateway
from workers.workloads.parts.servers.gateway import Budget, Counts, application

pytestmark = pytest.mark.one_build

NEVER_S = 60.0
DEADLINE_S = 0.02


class Pool:
    """A database that answers after a while, or before its loop looks at any timer."""

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s

    async def fetchrow(self, _query: str, key: int) -> dict[str, Any]:
        if self._takes_s:
            await asyncio.sleep(self._takes_s)
        return {"a": key, "b": "x" * 20}


class Response:
    async def read(self) -> bytes:
        return b"four"


class Session:
    """A service downstream that answers after a while."""

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s

    @contextlib.asynccontextmanager
    async def get(self, _url: str, **_options: Any) -> AsyncIterator[Response]:
        await asyncio.sleep(self._takes_s)
        yield Response()


@contextlib.asynccontextmanager
async def giving[T](made: T) -> AsyncIterator[T]:
    yield made


def answers(
    monkeypatch: pytest.MonkeyPatch,
    *,
    database_s: float = 0.0,
    downstream_s: float = 0.0,
    deadline_s: float | None = NEVER_S,
    limit: int = 0,
    at_once: int = 1,
) -> tuple[list[int], Counts]:
    """The statuses of requests that come at once, and what was counted."""
    monkeypatch.setattr("asyncpg.create_pool", lambda *_, **__: giving(Pool(database_s)))
    monkeypatch.setattr("aiohttp.ClientSession", lambda **_: giving(Session(downstream_s)))
    counts = Counts()
    app = application(Budget(deadline_s, limit, 1), counts, "", "", 10)
    statuses: list[int] = []

    async def ask(state: Any) -> None:
        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
        await app({**scope, "state": state}, receive, send)

    async def main() -> None:
        async with app.router.lifespan_context(app) as state:
            await asyncio.gather(*(ask(state) for _ in range(at_once)))

    asyncio.run(main())
    return statuses, counts


def test_an_answer_has_both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, counts = answers(monkeypatch, downstream_s=0.05, deadline_s=None)  # it waits
    assert (statuses, counts.calls_cancelled) == ([200], 0)
    statuses, counts = answers(monkeypatch)
    assert statuses == [200]
    assert set(counts.figures().values()) == {0.0, 1.0}
    assert counts.requests_in_flight_max == 1


def test_at_the_deadline_only_what_is_left_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, counts = answers(monkeypatch, downstream_s=NEVER_S, deadline_s=DEADLINE_S)
    assert statuses == [504]
    assert (counts.deadline_missed, counts.calls_cancelled, counts.queries_cancelled) == (1, 1, 0)
    statuses, counts = answers(
        monkeypatch, database_s=NEVER_S, downstream_s=NEVER_S, deadline_s=DEADLINE_S
    )
    assert (counts.calls_cancelled, counts.queries_cancelled, counts.in_flight) == (1, 1, 0)


def test_beyond_the_limit_requests_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, counts = answers(monkeypatch, downstream_s=0.005, deadline_s=None, limit=2, at_once=5)
    assert statuses == [503, 503, 503, 200, 200]
    assert (counts.refused, counts.requests_in_flight_max) == (3, 2)


def test_an_error_downstream_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_self: Pool, _query: str, _key: int) -> Any:
        raise ConnectionError("the database has gone")

    monkeypatch.setattr(Pool, "fetchrow", broken)
    with pytest.raises(ExceptionGroup):
        answers(monkeypatch)
    (request,) = Gateway().client_requests()
    assert request["declined"] == [503, 504]
