"""`python -m workers.services.postgres`: have a database, for a study or to try it."""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from workers.cell import LOOPBACK
from workers.services.native import (
    Announced,
    NativeError,
    Running,
    native_parser,
    own_folder,
    run,
    run_program,
    say,
)
from workers.services.postgres import INSTALLED

ROWS = 1_000_000
ROWS_MOST = 100_000_000


def _rows(text: str) -> int:
    if not 1 <= (number := int(text)) <= ROWS_MOST:
        raise argparse.ArgumentTypeError(f"expected 1 to {ROWS_MOST:,}, got {text}")
    return number


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = native_parser("workers.services.postgres", "Has a table in PostgreSQL.")
    parser.add_argument("--rows", type=_rows, default=ROWS, help=f"rows of the table ({ROWS:,})")
    parser.add_argument("--cache", metavar="DIR", help="where data are kept for the next time")
    options = parser.parse_args(arguments)
    try:
        running = _running(options)
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: a package is missing: {error}\n")
    return run(parser, until_eof=options.until_eof, running=running)


def _running(options: argparse.Namespace) -> Running:
    from workers.services.postgres.data import provide
    from workers.services.postgres.server import NAME, installed, read_facts
    from workers.services.postgres.server import running as has
    from workers.services.postgres.table import SEED

    @asynccontextmanager
    async def running() -> AsyncIterator[Announced]:
        async with AsyncExitStack() as until_the_end:
            folder = until_the_end.enter_context(own_folder())
            kept = await provide(folder, options.cache, options.rows, SEED, say)
            try:
                server = await until_the_end.enter_async_context(has(folder))
                facts = await read_facts(server.port, options.rows)
            except NativeError as error:
                hint = f". Delete {kept}, and its data are made again" if kept else ""
                raise NativeError(f"{error}{hint}") from None
            yield Announced([f"postgresql://{NAME}@{LOOPBACK}:{server.port}/{NAME}"], facts, server)

    url = os.environ.get(INSTALLED)
    return (lambda: installed(url, options.rows, SEED, say)) if url else running


if __name__ == "__main__":
    run_program(lambda: main(sys.argv[1:]))
