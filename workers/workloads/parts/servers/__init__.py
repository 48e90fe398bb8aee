"""The servers of served workloads, one file each: what makes the protocol of a connection.

How connections arrive is the same for all of them (`workers.workloads.parts.served`). Each file
has what `ServerKind` lists. It is imported only where that server is asked for.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Protocol

from workers.workloads.parts.applications import ApplicationError

if TYPE_CHECKING:
    from workers import Worker
    from workers.workloads.parts.servers.base import BaseServer
    from workers.workloads.parts.work import PerRequest


# Of the servers of applications: each has a small one of its own, which stands in for the user's.
FILES = {"aiohttp": "on_aiohttp", "asgi": "on_uvicorn"}


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
    kind: ServerKind = importlib.import_module(f"{__name__}.{FILES.get(name, name)}")
    return kind


def preload(interface: str | None) -> None:
    """Import the server for applications of that interface: before threads, and before a fork.

    None: it is not known until a factory has been called; a framework that is there already says
    which it may be.
    """
    if interface in (None, "asgi"):
        load_server("asgi")
    if interface == "aiohttp" or (interface is None and "aiohttp.web" in sys.modules):
        load_server("aiohttp")


def server_of(interface: str, worker: Worker, application: Any, *, lifespan: str) -> BaseServer:
    """The server of a user's application on a worker's loop.

    Raises:
        ApplicationError: an application of WSGI has no loop.
    """
    if interface == "asgi":
        from workers.workloads.parts.servers.on_uvicorn import OnUvicorn

        return OnUvicorn(worker, lambda: application, lifespan=lifespan)
    if interface == "aiohttp":
        from workers.workloads.parts.servers.on_aiohttp import OnAiohttp

        return OnAiohttp(worker, lambda: application)
    raise ApplicationError(
        "an application of WSGI has no event loop: measure it with server = gunicorn-gthread"
    )
