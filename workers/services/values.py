"""The data that services hold. A value follows from its key, so clients can check it.

The table `row` of PostgreSQL has keys from 1, and 20 letters for each. A cache has a value for each
key, by what a miss costs.
"""

import hashlib
import string
from collections.abc import AsyncIterator, Callable
from typing import Any

# -------------------------------------------------------------------------------------------- table

LETTERS = 20
SEED = 0  # of all letters, and in the name of what has them: other data would have another one
# Every byte a letter: 256 is not a multiple of 52, so some are a little more frequent.
OF_BYTE = "".join(string.ascii_letters[byte % 52] for byte in range(256)).encode()
CHUNK = 10_000  # rows
REPORT = 250_000  # rows between two reports


def letters(key: int) -> str:
    """The letters `b` of the row `a` = key."""
    return _letters(key).decode()


def _letters(key: int) -> bytes:
    return hashlib.blake2b(b"%d %d" % (SEED, key), digest_size=LETTERS).digest().translate(OF_BYTE)


async def fill(connection: Any, rows: int, say: Callable[[str], None]) -> None:
    """Make the table in an empty database, ready to be read; `connection` is asyncpg's.

    The table is there with its index or not at all. Else an interrupted study could leave one
    without index in an installed server, and each query of the next study would read every row.
    """
    async with connection.transaction():
        await connection.execute("create table row (a integer, b text not null)")
        await connection.copy_to_table("row", source=_lines(rows, say))
        say("PostgreSQL: making the index")
        await connection.execute("alter table row add primary key (a)")
    await connection.execute("vacuum (freeze, analyze) row")


async def is_complete(connection: Any, rows: int) -> bool:
    """Return True if a database has the whole table."""
    if not await connection.fetchval("select to_regclass('row') is not null"):
        return False
    found = await connection.fetch("select a, b from row where a = $1", rows)
    return [tuple(each) for each in found] == [(rows, letters(rows))]


async def _lines(rows: int, say: Callable[[str], None]) -> AsyncIterator[bytes]:
    """The table as `copy` reads it, chunk by chunk; `say` reports how far it is."""
    for first in range(1, rows + 1, CHUNK):
        keys = range(first, min(first + CHUNK, rows + 1))
        yield b"".join(b"%d\t%b\n" % (key, _letters(key)) for key in keys)
        if keys[-1] % REPORT == 0:
            say(f"PostgreSQL: {keys[-1]:,} of {rows:,} rows copied")


# -------------------------------------------------------------------------------------------- cache

AT_ONCE = 50  # keys in a command that fills a server: it has buffers for them


def computed(key: int) -> str:
    """The value of a key that CPU work computes."""
    return f"value {key:026}"


def read(key: int) -> str:
    """The value that is read from PostgreSQL: rows count from 1."""
    return letters(key + 1)


VALUES: dict[str, Callable[[int], str]] = {"cpu": computed, "postgres": read}
