"""Rows for an application on a loop: a pool of asyncpg's, or of psycopg's."""

import asyncio
import threading
from typing import Any, Protocol

from workers.workloads.parts.stack.database import WAIT_S, Database, Keys


class Pool(Protocol):
    """The pool of one driver."""

    async def open(self) -> None:
        """Make its connections."""

    async def fetch(self, key: int) -> tuple[int, str]:
        """The row of that key."""

    async def close(self) -> None:
        """Close them."""


class AsyncpgPool:
    """asyncpg's. What it runs by default to reset a returned connection would be a second query."""

    QUERY = "select a, b from row where a = $1"

    def __init__(self, database: Database) -> None:
        import asyncpg

        size = database.of_each_loop
        self._pool: Any = asyncpg.create_pool(
            database.url,
            min_size=size,
            max_size=size,
            statement_cache_size=database.cached,
            reset=_nothing,
        )

    async def open(self) -> None:
        """Make its connections."""
        await self._pool

    async def fetch(self, key: int) -> tuple[int, str]:
        """The row of that key."""
        async with self._pool.acquire(timeout=WAIT_S) as connection:
            row: tuple[int, str] = await connection.fetchrow(self.QUERY, key)
            return row

    async def close(self) -> None:
        """Close them."""
        await self._pool.close()


class PsycopgPool:
    """psycopg's, with the settings of `workers.workloads.parts.stack.rows`."""

    QUERY = "select a, b from row where a = %s"

    def __init__(self, database: Database) -> None:
        from psycopg_pool import AsyncConnectionPool

        size = database.of_each_loop
        kwargs: dict[str, Any] = {} if database.cached else {"prepare_threshold": None}
        self._pool = AsyncConnectionPool(
            database.url,
            kwargs={"autocommit": True, **kwargs},
            min_size=size,
            max_size=size,
            timeout=WAIT_S,
            open=False,
        )

    async def open(self) -> None:
        """Make its connections."""
        await self._pool.open(wait=True)

    async def fetch(self, key: int) -> tuple[int, str]:
        """The row of that key."""
        async with self._pool.connection() as connection:
            found = await connection.execute(self.QUERY, [key])
            row = await found.fetchone()
        assert row
        return row[0], row[1]

    async def close(self) -> None:
        """Close them."""
        await self._pool.close()


POOLS: dict[str, type[AsyncpgPool | PsycopgPool]] = {
    "asyncpg": AsyncpgPool,
    "psycopg": PsycopgPool,
}


class _OfThisLoop(threading.local):
    """The pool of the loop that runs in this thread."""

    def __init__(self) -> None:
        self.opening = asyncio.Lock()
        self.pool: Pool | None = None


class AsyncRows:
    """A pool for each loop: opened when the application starts there, or by the first request.

    granian's threads have a loop each and share one application. A server without lifespans
    (daphne) never says that the application starts.
    """

    def __init__(self) -> None:
        self._database = Database.from_environment()
        self._keys = Keys(self._database.rows)
        self._here = _OfThisLoop()

    async def open(self) -> None:
        """Open the pool of this loop, once."""
        async with self._here.opening:
            if self._here.pool is None:
                pool = POOLS[self._database.driver](self._database)
                await pool.open()
                self._here.pool = pool

    async def any(self) -> dict[str, object]:
        """A row, by a random key."""
        if self._here.pool is None:
            await self.open()
        assert self._here.pool
        a, b = await self._here.pool.fetch(self._keys.any())
        return {"a": a, "b": b}

    async def close(self) -> None:
        """Close the pool of this loop."""
        if self._here.pool is not None:
            await self._here.pool.close()


async def _nothing(_connection: object) -> None:
    """There is nothing to reset: an application that reads a row leaves nothing behind."""
