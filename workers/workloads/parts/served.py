"""The base of served workloads, with their connections, servers and pools of threads."""

import asyncio
import contextlib
import importlib
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from workers import Worker, Workload, parameter
from workers.limits import CONNECTIONS_MOST, RATE_LEAST, RATE_MOST
from workers.system import BACKLOG
from workers.workloads.parts.applications import ApplicationError
from workers.workloads.parts.first_request import first_request
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.work import Awaited, PerRequest

if TYPE_CHECKING:  # imported where it is used: most runs have no command
    from workers.workloads.parts.commands import Hosted

# ---------------------------------------------------------------------------------------- accepting
# Takes a worker's connections, by the accept policy of its run, into a server's protocol.

AT_A_TIME = 64  # connections that may wait in the acceptor's socket and are taken in one wake-up


class Accepting:
    """A worker's way to its connections: a server on a listening socket, or the acceptor's end.

    `connections` is how many it has taken so far.
    """

    def __init__(self, factory: Callable[[], asyncio.Protocol]) -> None:
        self.connections = 0
        self._factory = factory
        self._server: asyncio.Server | None = None
        self._dealt: socket.socket | None = None
        self._taking: set[asyncio.Task[None]] = set()

    async def begin(self, worker: Worker) -> None:
        """Take connections from now on."""
        assert worker.inbound  # the host refuses a run without one
        policy, inbound = worker.inbound
        loop = asyncio.get_running_loop()
        if policy == "acceptor":
            self._dealt = inbound
            loop.add_reader(inbound.fileno(), self._take)
        else:
            self._server = await loop.create_server(self._new, sock=inbound, backlog=BACKLOG)

    async def close(self) -> None:
        """Take no more; the connections are their protocols' to close."""
        if self._server:
            self._server.close()
        if self._dealt:
            asyncio.get_running_loop().remove_reader(self._dealt.fileno())
            self._dealt.close()
        for task in self._taking:
            task.cancel()

    def _new(self) -> asyncio.Protocol:
        self.connections += 1
        return self._factory()

    def _take(self) -> None:
        assert self._dealt
        try:
            data, descriptors, _, _ = socket.recv_fds(self._dealt, AT_A_TIME, AT_A_TIME)
        except BlockingIOError:
            return
        if not data:  # the host has closed its end
            asyncio.get_running_loop().remove_reader(self._dealt.fileno())
        for descriptor in descriptors:
            task = asyncio.create_task(self._connect(socket.socket(fileno=descriptor)))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)

    async def _connect(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client has gone already
            await asyncio.get_running_loop().connect_accepted_socket(self._new, connection)


# ------------------------------------------------------------------------------------------ servers
# The choice of a server, of those that have a file in `servers`.

# Of the servers of applications: each has a small one of its own, which stands in for the user's.
FILES = {"aiohttp": "on_aiohttp", "asgi": "on_uvicorn"}


class ServerKind(Protocol):
    """The file of one server."""

    def requests(self, response_bytes: int) -> list[dict[str, Any]]:
        """The requests of clients, as the load generator reads them."""

    def make(self, worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
        """Make the server of one worker, with an application of its own."""


def load_server(name: str) -> ServerKind:
    """Import the server of that name, and all that it needs.

    Raises:
        ImportError: something that it needs is not installed or does not load here.
    """
    kind: ServerKind = importlib.import_module(
        f"workers.workloads.parts.servers.{FILES.get(name, name)}"
    )
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
        from workers.workloads.parts.servers.on_aiohttp import OnAiohttp, count_websockets

        count_websockets()
        return OnAiohttp(worker, lambda: application)
    raise ApplicationError(
        "an application of WSGI has no event loop: measure it with server = gunicorn-gthread"
    )


# --------------------------------------------------------------------------------------------- pool
# The number of threads in each loop's pool, for work that blocks.
#
# Two limits decide it: the loop's default executor, which `asyncio.to_thread` uses, and anyio's
# limiter, by which Starlette and FastAPI run endpoints that are not coroutines. Each loop has its
# own, so N loops have N times as many threads.

PREFIX = "loop-pool"


class PoolError(RuntimeError):
    """The pool is not what was asked for: the application sets it itself."""


def size_pool(threads: int) -> None:
    """Give the running loop a pool of so many threads; 0 leaves what its libraries have."""
    if threads:
        from concurrent.futures import ThreadPoolExecutor  # costs the others memory

        executor = ThreadPoolExecutor(threads, thread_name_prefix=PREFIX)
        asyncio.get_running_loop().set_default_executor(executor)
        if limiter := _limiter():
            limiter.total_tokens = threads


async def pool_in_use(threads: int) -> dict[str, str]:
    """The pool of the running loop, for the record, once it is seen to be ours; nothing if no size
    was asked for.

    Raises:
        PoolError: it is not what was asked for.
    """
    if not threads:
        return {}
    thread = await asyncio.to_thread(threading.current_thread)
    if not thread.name.startswith(PREFIX):
        raise PoolError("the application sets the loop's default executor itself: leave out pool")
    limiter = _limiter()
    if limiter and limiter.total_tokens != threads:
        raise PoolError(
            f"{threads} threads per loop were asked for, and the application sets anyio's limiter "
            f"to {limiter.total_tokens:g} itself: leave out pool"
        )
    return {"pool": f"{threads} threads per loop"}


def _limiter() -> Any:  # anyio.CapacityLimiter, where the environment has anyio
    try:
        from anyio.to_thread import current_default_thread_limiter
    except ImportError:
        return None
    return current_default_thread_limiter()


# ------------------------------------------------------------------------------------------- served

WITHOUT_HTTPTOOLS = "httptools, which uvicorn parses requests with, does not load there"


@dataclass
class Served(Workload):
    """Base of a workload with a server on each loop, loaded from outside; it needs `start`.

    One operation: one request answered, counted when the answer has been written.
    """

    operation = "requests"
    in_flight = "connections"
    descriptors = 1
    served = True
    alone: ClassVar[str | None] = None
    settle_s = 0.05  # from the first request of a slice
    no_interpreters: ClassVar[str | None] = None  # reason that sub-interpreters cannot run it

    connections: int = parameter(16, "connections per worker", at_least=1, at_most=CONNECTIONS_MOST)
    rate_per_s: float = parameter(
        0.0,
        "requests due per second, all workers together; 0: a closed loop",
        at_least=RATE_LEAST,
        at_most=RATE_MOST,
    )
    arrivals: Literal["poisson", "constant"] = parameter("poisson", "gaps between due times")
    keep_alive: bool = parameter(True, "keep connections open; else each request opens one")
    accept: Literal["port", "acceptor", "shared", "reuseport"] = parameter(
        "port", "how connections reach the workers"
    )

    def __post_init__(self) -> None:
        """Begin with nothing that would have to be closed."""
        super().__post_init__()
        self._server: BaseServer | None = None
        self._accepting: Accepting | None = None
        self._facts: dict[str, str] = {}

    def refuses(self, model: str, loop: str) -> str | None:
        """Refuse an acceptor with rloop: rloop 0.5 takes no connection that others accepted."""
        if model == "interpreters" and self.no_interpreters:
            return self.no_interpreters
        if self.accept == "acceptor" and loop == "rloop":
            return "rloop cannot take a connection that another thread has accepted"
        return super().refuses(model, loop)

    def facts(self) -> dict[str, str]:
        """Server, parser, access log, debug mode, Date header: read from a connection."""
        return self._facts

    def hosted(self) -> "Hosted":
        """The application that a command serves in place of this project's server."""
        raise NotImplementedError(f"{type(self).__name__} has no hosted()")

    async def start(self, worker: Worker) -> BaseServer:
        """Set `_server`, start it and try it; return it, and set `_facts`.

        Its counts are reset afterwards. Once `_server` is set it is closed, whatever happens.
        """
        raise NotImplementedError(f"{type(self).__name__} has no start()")

    async def begin(self, server: BaseServer, request: Mapping[str, Any]) -> dict[str, str]:
        """Start a server, which is closed whatever happens; return the facts of one request.

        Raises:
            RuntimeError: it does not start, or the answer is wrong.
        """
        self._server = server
        await server.start()
        return await first_request(server, self.client_scheme(), request)

    async def setup(self, worker: Worker) -> None:
        """Start the server, try it, then take connections."""
        server = await self.start(worker)
        worker.operations = worker.bytes = worker.errors = 0  # those requests were ours
        worker.error_samples.clear()
        self._accepting = Accepting(server.protocol)
        await self._accepting.begin(worker)

    async def run(self, worker: Worker) -> None:
        """Answer until stopped."""
        await worker.stopped()
        assert self._accepting
        assert self._server
        made = self._accepting.connections
        worker.figures["connections_total"] = made - self._server.unused

    async def teardown(self, worker: Worker) -> None:
        """Take no more connections, and close those that there are; then end the application."""
        if self._accepting:
            await self._accepting.close()
        elif worker.inbound:  # the server did not start
            worker.inbound[1].close()
        if self._server:
            await self._server.close()


BODY_BYTES = 256


@dataclass
class OnAsgi(Served):
    """Base of a workload whose requests do something of its own; it needs `prepare`.

    They are answered by a small ASGI application on uvicorn with httptools.
    """

    no_interpreters = WITHOUT_HTTPTOOLS

    def load(self) -> None:
        super().load()
        self._asgi = load_server("asgi")

    def client_requests(self) -> list[dict[str, Any]]:
        return self._asgi.requests(BODY_BYTES)

    async def prepare(self, worker: Worker) -> Callable[[], Awaitable[None]]:
        """Set up what requests need; return what is awaited for each."""
        raise NotImplementedError(f"{type(self).__name__} has no prepare()")

    async def start(self, worker: Worker) -> BaseServer:
        per_request = Awaited(await self.prepare(worker))
        server = self._asgi.make(worker, per_request, BODY_BYTES)
        (request,) = self.client_requests()
        self._facts = super(Served, self).facts() | await self.begin(server, request)
        return server
