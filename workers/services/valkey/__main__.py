"""`python -m workers.services.valkey`: have a cache in a server, for a study or to try it."""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from workers.services.native import (
    Announced,
    NativeError,
    native_parser,
    own_folder,
    run,
    run_program,
)
from workers.services.valkey import INSTALLED, VALUES

ENTRIES, CONNECTIONS = 10_000, 4


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return number


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = native_parser("workers.services.valkey", "Has a cache in Valkey.")
    add = parser.add_argument
    add("--entries", type=_count, default=ENTRIES, help=f"that it has memory for ({ENTRIES:,})")
    add("--miss", choices=list(VALUES), default="cpu", help="what values are from (cpu)")
    add("--workers", type=_count, default=1, help="that look up (1)")
    add("--connections", type=_count, default=CONNECTIONS, help=f"of each ({CONNECTIONS})")
    options = parser.parse_args(arguments)
    try:
        from valkey.exceptions import ValkeyError

        from workers.services.valkey import server as valkey
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: a package is missing: {error}\n")

    size = options.entries, options.miss, options.workers * options.connections

    @asynccontextmanager
    async def embedded() -> AsyncIterator[Announced]:
        with own_folder() as folder:
            async with valkey.running(folder) as (url, server):
                try:
                    facts = await valkey.limit(url, *size)
                except ValkeyError as error:
                    raise NativeError(f"Valkey cannot be filled: {error}") from None
                yield Announced([url], facts, server)

    @asynccontextmanager
    async def installed() -> AsyncIterator[Announced]:
        url = os.environ[INSTALLED]
        async with valkey.emptied(url):
            facts = await valkey.limit(url, *size)
            yield Announced([url], facts | {"installed": "yes"})

    running = installed if os.environ.get(INSTALLED) else embedded
    return run(parser, until_eof=options.until_eof, running=running)


if __name__ == "__main__":
    run_program(lambda: main(sys.argv[1:]))
