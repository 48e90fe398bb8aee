"""The data of a server: made once, kept in a cache, copied for each study.

A server only ever works on a copy, so a study cannot damage what is kept.
"""

import os
import shutil
from collections.abc import Callable

from workers.services.native import Folder, NativeError, done, own_folder
from workers.services.postgres.server import (
    DATA,
    NAME,
    RUNNING,
    TEMPLATE,
    WRITTEN_S,
    connect,
    program,
    running,
    version,
)
from workers.services.postgres.table import fill

INITDB = (
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
    "--wal-segsize=1",  # MiB: less to copy
)
LESS_TO_COPY = (  # one database instead of three beside the template
    f"alter database postgres rename to {NAME}",
    "alter database template0 is_template false",
    "drop database template0",
)
UNFINISHED = ".making-"


async def provide(
    folder: Folder, cache: str | None, rows: int, seed: int, say: Callable[[str], None]
) -> str:
    """Put the data into a folder; return the place in the cache that they were copied from.

    Without a cache they are made there, and the place is empty.

    Raises:
        NativeError: they cannot be made.
        OSError: the disk is full, or the cache cannot be written.
    """
    if cache is None:
        await _make(folder, rows, seed, say)
        return ""
    kept = os.path.join(cache, f"postgresql-{version()}-{rows}-{seed}")
    if not _is_there(kept):
        os.makedirs(cache, exist_ok=True)
        with own_folder(cache, UNFINISHED) as own:
            await _make(own, rows, seed, say)
            _rename(os.path.join(own.path, DATA), kept)
    shutil.copytree(kept, os.path.join(folder.path, DATA))
    return kept


def _is_there(path: str) -> bool:
    return os.path.exists(path)


def _rename(made: str, kept: str) -> None:
    try:
        os.rename(made, kept)
    except OSError:
        if not _is_there(kept):  # else another study was faster
            raise


async def _make(folder: Folder, rows: int, seed: int, say: Callable[[str], None]) -> None:
    say(f"PostgreSQL: making a database of {rows:,} rows")
    data = os.path.join(folder.path, DATA)
    await done([program("initdb"), f"--pgdata={data}", f"--username={NAME}", *INITDB], folder)
    async with running(folder, database=TEMPLATE, kept=True) as server:
        connection = await connect(server.port, TEMPLATE)
        for statement in LESS_TO_COPY:
            await connection.execute(statement)
        await connection.close()
        connection = await connect(server.port)
        await fill(connection, rows, seed, say)
        await connection.execute("checkpoint")  # the end then takes no time
        await connection.close()
    if _is_there(os.path.join(data, RUNNING)):
        raise NativeError(f"PostgreSQL did not write its data within {WRITTEN_S:.0f} s")
    await done([program("initdb"), f"--pgdata={data}", "--sync-only"], folder)
