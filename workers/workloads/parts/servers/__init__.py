"""The servers of served workloads, one file each: what makes the protocol of a connection.

How connections arrive is the same for all of them (`workers.workloads.parts.accepting`). Each file
has what `ServerKind` lists. It is imported only where that server is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from workers import Worker
    from workers.workloads.parts.per_request import PerRequest
    from workers.workloads.parts.servers.base import BaseServer


class ServerKind(Protocol):
    """The file of one server."""

    def requests(self, response_bytes: int) -> list[dict[str, Any]]:
        """What clients send, as the load generator reads it."""

    def make(self, worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
        """Make the server of one worker, with an application of its own."""


def load_server(name: str) -> ServerKind:
    """Import the server of that name, and all that it needs.

    Raises:
        ImportError: something that it needs is not installed or does not load here.
    """
    kind: ServerKind = importlib.import_module(f"{__name__}.{name}")
    return kind
