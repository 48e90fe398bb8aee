"""pgbouncer in front of PostgreSQL: many connections of clients share few of the database's.

To try it: `SCALING_POSTGRES=URL python -m workers.services.pgbouncer`.
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit

from workers.cell import LOOPBACK
from workers.services.native import (
    Announced,
    Program,
    own_folder,
    run,
    serving,
)
from workers.services.postgres import INSTALLED
from workers.services.serving import program_parser, run_program

NAME = "scaling"
POOL = 20  # pgbouncer's default
CONFIGURATION = """\
; pgbouncer for the time of a study. All else is pgbouncer's default.
[databases]
{name} = {server}

[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 10000
log_connections = 0
log_disconnections = 0
"""
KEEPS = (1, 21)  # prepared statements of clients, from that version on
WAITS = (1, 23)  # for its clients to leave after SIGTERM, from that version on
STATEMENTS = "max_prepared_statements = 100\n"
FORGETS = "?prepared=0"  # at the end of the URL: clients must not prepare any


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = program_parser("workers.services.pgbouncer", "Pools connections to PostgreSQL.")
    add = parser.add_argument
    add("--program", default="pgbouncer", help="the program, if it is not on PATH")
    add("--db-connections", type=int, default=0, help=f"to the server; 0: pgbouncer's {POOL}")
    options = parser.parse_args(arguments)
    url = os.environ.get(INSTALLED)
    if not url:
        parser.error(f"{INSTALLED} has no URL of a PostgreSQL server")

    @asynccontextmanager
    async def running() -> AsyncIterator[Announced]:
        version = _version(options.program)
        keeps = _number(version) >= KEEPS
        pool = options.db_connections or POOL
        with own_folder() as folder:
            file = os.path.join(folder.path, "pgbouncer.ini")

            def command(port: int) -> list[str]:
                text = CONFIGURATION.format(
                    name=NAME, server=_server(url), host=LOOPBACK, port=port, pool=pool
                )
                with open(file, "w", encoding="utf-8") as configuration:
                    configuration.write(text + STATEMENTS * keeps)
                return [options.program, "-q", file]

            asked = Program("pgbouncer", command, _answers, ends_by(version))
            async with serving(asked, folder) as server:
                facts = {"version": version, "pool_mode": "transaction", "pool": str(pool)}
                place = f"postgresql://{NAME}@{LOOPBACK}:{server.port}/{NAME}"
                yield Announced([place if keeps else place + FORGETS], facts, server)

    return run(parser, until_eof=options.until_eof, running=running)


async def _answers(port: int) -> None:
    """Try the way to the database and back."""
    import asyncpg

    try:
        connection = await asyncpg.connect(
            host=LOOPBACK, port=port, user=NAME, database=NAME, ssl=False, statement_cache_size=0
        )
        await connection.execute("select 1")
        await connection.close()
    except asyncpg.PostgresError as error:
        raise ConnectionError(str(error)) from None


def _version(program: str) -> str:
    """The version, such as 1.18.0."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return words.stdout.split()[1]


def ends_by(version: str) -> signal.Signals:
    """The signal at which this version ends at once."""
    return signal.SIGQUIT if _number(version) >= WAITS else signal.SIGTERM


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def _server(url: str) -> str:
    """The server of a URL as pgbouncer names it."""
    parts = urlsplit(url)
    found = {
        "host": parts.hostname or LOOPBACK,
        "port": str(parts.port or 5432),
        "dbname": parts.path.removeprefix("/"),
        "user": unquote(parts.username or NAME),
        "password": unquote(parts.password or ""),
    }
    quoted = ((name, value.replace("'", "''")) for name, value in found.items() if value)
    return " ".join(f"{name}='{value}'" for name, value in quoted)


if __name__ == "__main__":
    run_program(main)
