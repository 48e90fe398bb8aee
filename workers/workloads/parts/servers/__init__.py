"""The servers of served workloads, one file each: they make the protocol of each connection.

Connections reach all of them in the same way (`workers.workloads.parts.served`). A file that
`serve` can ask for has what `ServerKind` there lists. It is imported only where it is asked for.
"""

import asyncio

from workers import Worker

KEEP_ALIVE_S = 75.0  # how long an idle connection is kept: longer than any window
CLOSING_S = 2.0  # limit for requests in flight at the end


class BaseServer:
    """A server on one worker's loop, with an application that no other worker has.

    It counts an operation when an answer has been written. Whether it is the right one is for the
    load generator to say, which knows what each request should be answered with. `unused` are
    connections that were closed without a request: the load generator makes one to see whether the
    server can be reached.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.unused = 0

    async def start(self) -> None:
        """Start the application; only then are there connections.

        Raises:
            RuntimeError: the application does not start.
        """

    def protocol(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        raise NotImplementedError

    @property
    def buffered_bytes(self) -> int:
        """The most bytes that wait to be written on one connection; of servers with rooms."""
        raise NotImplementedError

    def facts(self, protocol: asyncio.Protocol) -> dict[str, str]:
        """Facts read from a connection: server, parser, access log, debug mode."""
        return {}

    async def close(self) -> None:
        """Close all connections, then the application."""


def on_off(switch: object) -> str:
    """`on` or `off`, for the record."""
    return "on" if switch else "off"
