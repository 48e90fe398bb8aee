"""An installed server: a database of its own in it, which stays there for the next study."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from workers.services.native import Announced, NativeError
from workers.services.postgres.server import settings
from workers.services.postgres.table import fill, is_complete


@asynccontextmanager
async def installed(
    url: str, rows: int, seed: int, say: Callable[[str], None]
) -> AsyncIterator[Announced]:
    """Have the table in an installed server; the user of the URL must be allowed to make databases.

    Raises:
        NativeError: it does not answer or does not allow that. The message has no part of the URL.
    """
    name = f"scaling_{rows}_{seed}"
    try:
        scheme, netloc, _, query, fragment = urlsplit(url)
        own = urlunsplit((scheme, netloc, f"/{name}", query, fragment))
        first = await asyncpg.connect(url)
        try:
            if not await first.fetchval("select true from pg_database where datname = $1", name):
                await first.execute(f"create database {name}")
        finally:
            await first.close()
        connection = await asyncpg.connect(own)
        try:
            facts = await _with_table(connection, rows, seed, say)
        finally:
            await connection.close()
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise NativeError(
            f"the PostgreSQL of --postgres cannot be used ({type(error).__name__}); "
            "try its URL with psql: the user must be allowed to create databases"
        ) from None
    yield Announced([own], facts | {"installed": "yes"})


async def _with_table(
    connection: Any, rows: int, seed: int, say: Callable[[str], None]
) -> dict[str, str]:
    if not await is_complete(connection, rows, seed):
        await connection.execute("drop table if exists row")
        say(f"PostgreSQL: making a database of {rows:,} rows")
        await fill(connection, rows, seed, say)
    return await settings(connection)
