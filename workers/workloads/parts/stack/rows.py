"""Rows of the database for an application: where they are, and a pool of connections to them.

Each loop, and each worker without one, has a pool of its own, all of whose connections are opened
at its start: its share of the connections that all workers have together. Each request is one
statement in a transaction of its own (autocommit), with either driver.
"""

import asyncio
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from workers.workloads.parts.clients import CACHE, URL

# ----------------------------------------------------------------------------------------- database
# The database as an application finds it in its environment, and the keys that it asks for.

# Environment variables: rows of the table, driver, loops that serve it, and its connections.
ROWS, DRIVER = "SCALING_DATABASE_ROWS", "SCALING_DATABASE_DRIVER"
SERVED_BY = "SCALING_DATABASE_LOOPS"
POOL = "SCALING_BUDGET_DB"
WAIT_S = 10.0  # limit for a connection of the pool; a request that waits longer has failed


@dataclass(frozen=True)
class Database:
    """The database, and this application's share of it; `loops` loops share the connections.

    A connection keeps up to `cached` prepared statements: 0 behind a pooler that loses them.
    """

    url: str
    rows: int
    connections: int
    loops: int
    cached: int
    driver: str

    @classmethod
    def from_environment(cls) -> "Database":
        """The database that the driver, the workload and the worker's budget name."""
        found = os.environ
        return cls(
            url=found[URL],
            rows=int(found[ROWS]),
            connections=int(found[POOL]),
            loops=int(found[SERVED_BY]),
            cached=int(found[CACHE]),
            driver=found[DRIVER],
        )

    @property
    def of_each_loop(self) -> int:
        """The connections of one loop."""
        return self.connections // self.loops

    @property
    def of_psycopg(self) -> dict[str, Any]:
        """Psycopg's options: it prepares a statement from the 5th time on, or never."""
        return {"autocommit": True, **({} if self.cached else {"prepare_threshold": None})}


def keys_of(rows: int) -> Callable[[], int]:
    """Return a function that draws keys of existing rows, all equally likely."""
    return partial(random.Random().randint, 1, rows)


# ----------------------------------------------------------------------------------- without a loop
# Rows for an application without a loop: psycopg and its pool, which threads share.

QUERY = "select a, b from row where a = %s"


class Rows:
    """The pool of one worker."""

    def __init__(self) -> None:
        from psycopg_pool import ConnectionPool

        database = Database.from_environment()
        self._key = keys_of(database.rows)
        self._pool = ConnectionPool(
            database.url,
            kwargs=database.of_psycopg,
            min_size=database.connections,
            max_size=database.connections,
            timeout=WAIT_S,
            open=True,
        )
        self._pool.wait()

    def any(self) -> dict[str, object]:
        """A row, by a random key."""
        with self._pool.connection() as connection:
            row = connection.execute(QUERY, [self._key()]).fetchone()
        assert row
        return {"a": row[0], "b": row[1]}


# ---------------------------------------------------------------------------------------- on a loop
# Rows for an application on a loop: a pool of asyncpg's, or of psycopg's.


class AsyncpgPool:
    """asyncpg's, without the query by which it resets a returned connection by default."""

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
        await self._pool

    async def fetch(self, key: int) -> tuple[int, str]:
        async with self._pool.acquire(timeout=WAIT_S) as connection:
            row: tuple[int, str] = await connection.fetchrow(self.QUERY, key)
            return row

    async def close(self) -> None:
        await self._pool.close()


class PsycopgPool:
    """psycopg's."""

    def __init__(self, database: Database) -> None:
        from psycopg_pool import AsyncConnectionPool

        size = database.of_each_loop
        self._pool = AsyncConnectionPool(
            database.url,
            kwargs=database.of_psycopg,
            min_size=size,
            max_size=size,
            timeout=WAIT_S,
            open=False,
        )

    async def open(self) -> None:
        await self._pool.open(wait=True)

    async def fetch(self, key: int) -> tuple[int, str]:
        async with self._pool.connection() as connection:
            found = await connection.execute(QUERY, [key])
            row = await found.fetchone()
        assert row
        return row[0], row[1]

    async def close(self) -> None:
        await self._pool.close()


POOLS: dict[str, type[AsyncpgPool | PsycopgPool]] = {  # by driver
    "asyncpg": AsyncpgPool,
    "psycopg": PsycopgPool,
}


class _OfThisLoop(threading.local):
    """The pool of the loop that runs in this thread."""

    def __init__(self) -> None:
        self.opening = asyncio.Lock()
        self.pool: AsyncpgPool | PsycopgPool | None = None


class AsyncRows:
    """A pool for each loop: opened when the application starts there, or by the first request.

    granian's threads have a loop each and share one application. A server without lifespans
    (daphne) never says that the application starts.
    """

    def __init__(self) -> None:
        self._database = Database.from_environment()
        self._key = keys_of(self._database.rows)
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
        a, b = await self._here.pool.fetch(self._key())
        return {"a": a, "b": b}

    async def close(self) -> None:
        """Close the pool of this loop."""
        if self._here.pool is not None:
            await self._here.pool.close()


async def _nothing(_connection: object) -> None:
    """There is nothing to reset: an application that reads a row leaves nothing behind."""
