"""Your own application, served on each worker's loop and loaded from outside."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any, Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.accepting import Accepting
from workers.workloads.parts.applications import (
    ENVIRONMENT,
    Application,
    ApplicationError,
    environment,
    load_application,
    read_budgets,
    share_variables,
)
from workers.workloads.parts.servers import preload, server_of
from workers.workloads.parts.servers.base import BaseServer
from workers.workloads.parts.servers.readiness import until_ready

TURN_S = 0.002  # between two tries to have the environment


@dataclass
class App(Workload):
    """Requests answered by your own application on each loop, sent by a load generator.

    One operation: one request answered, counted when the answer has been written. An answer with
    status 400 or above is an error.

    `application` is `package.module:name`. With `factory` it is a function that makes the
    application, and each worker has its own; else workers in threads share the object. ASGI 3 runs
    on uvicorn with httptools, an aiohttp Application on aiohttp's server; each loop has a lifespan
    and a state of its own. WSGI has no loop: measure it with one of the other servers.

    `loops` is this project's server on each loop. The other `server`s are commands that people
    deploy with, measured from outside (`workers.outside`).

    While a worker's application is made, `SCALING_WORKERS`, `SCALING_WORKER_INDEX` and, for each of
    `budgets`, `SCALING_BUDGET_<NAME>` (its share) are in the environment.
    """

    operation = "requests"
    in_flight = "connections"
    descriptors = 1
    served = True

    application: str = parameter("", "the application, as package.module:name")
    factory: bool = parameter(False, "call it to make an application for each worker")
    interface: Literal["auto", "asgi", "aiohttp", "wsgi"] = parameter("auto", "what it is")
    lifespan: Literal["auto", "on", "off"] = parameter("auto", "whether ASGI lifespans are used")
    health: str = parameter("", "a path that answers once the application is ready")
    budgets: str = parameter("", "limits to divide among workers, as in db=20,cache=8")
    connections: int = parameter(16, "connections per worker", at_least=1)
    rate_per_s: float = parameter(
        0.0, "requests due per second, all workers together; 0: a closed loop", at_least=0
    )
    arrivals: Literal["poisson", "constant"] = parameter("poisson", "gaps between due times")
    keep_alive: bool = parameter(True, "keep connections open; else each request opens one")
    accept: Literal["port", "acceptor", "shared", "reuseport"] = parameter(
        "port", "how connections reach the workers"
    )
    server: Literal["loops", "uvicorn", "granian", "gunicorn", "gunicorn-gthread", "command"] = (
        parameter("loops", "what serves it")
    )
    command: str = parameter("", "with server=command: the command, with {port} and {workers}")

    def __post_init__(self) -> None:
        """Begin with what a test or a description needs."""
        self._facts: dict[str, str] = {}
        self._at_import: dict[str, str] = {}

    def client_requests(self) -> list[dict[str, Any]]:
        """What is sent unless the study has requests of its own."""
        return [{"path": "/"}]

    def refuses(self, model: str, loop: str) -> str | None:
        """Sub-interpreters load neither httptools nor most of what applications import."""
        if model == "interpreters":
            return "applications run in threads or in processes"
        if self.server != "loops":
            from workers.outside.commands import refusal  # costs the others memory

            return refusal(self, model, loop)
        if self.accept == "acceptor" and loop == "rloop":
            return "rloop cannot take a connection that another thread has accepted"
        return super().refuses(model, loop)

    def placed(self, model: str, workers: int, index: int | None) -> None:
        """Keep what the application is told while it is imported."""
        copies = workers if model == "forked" else 1
        self._at_import = share_variables(workers, index, read_budgets(self.budgets), copies)

    def load(self) -> None:
        """Import the application and its server; without an application, nothing."""
        self._application: Application | None = None
        self._budgets = read_budgets(self.budgets)
        if self.server != "loops":
            from workers.outside.commands import missing

            if package := missing(self.server):
                raise ModuleNotFoundError(f"{package} is not installed: add it with --with")
        elif self.application:
            with ENVIRONMENT, environment(self._at_import):
                self._application = load_application(self.application, self.factory, self.interface)
            preload(self._application.interface)

    def facts(self) -> dict[str, str]:
        """Server, parser, access log, debug mode, and whether loops share the application."""
        return self._facts

    async def setup(self, worker: Worker) -> None:
        """Make the application, start it, wait until it is ready, then take connections.

        Raises:
            ApplicationError: it cannot be used, does not start or never gets ready.
        """
        self._server: BaseServer | None = None
        self._accepting: Accepting | None = None
        application = self._application
        if application is None:
            raise ApplicationError(
                "no application was given: run it with scaling app package.module:name"
            )
        await self._start(worker, application)
        assert self._server
        self._facts = await until_ready(self._server, self.health)
        self._facts["application"] = _whose(application, worker)
        worker.operations = worker.bytes = worker.errors = 0  # those requests were ours
        worker.error_samples.clear()
        self._accepting = Accepting(self._server.protocol)
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
        elif worker.inbound:  # the application did not start
            worker.inbound[1].close()
        if self._server:
            await self._server.close()

    async def _start(self, worker: Worker, application: Application) -> None:
        """Make and start this worker's application, with its share in the environment.

        Lifespans that read a budget run one after the other; without budgets, together.
        """
        told = share_variables(worker.workers, worker.index, self._budgets)
        while not ENVIRONMENT.acquire(blocking=False):  # noqa: ASYNC110 - of threads, not of tasks
            await asyncio.sleep(TURN_S)
        held = True
        try:
            with environment(told):
                made = application.make()
                assert application.interface
                self._server = server_of(
                    application.interface, worker, made, lifespan=self.lifespan
                )
                if self._budgets:
                    await self._server.start()
            if not self._budgets:
                ENVIRONMENT.release()
                held = False
                await self._server.start()
        finally:
            if held:
                ENVIRONMENT.release()


def _whose(application: Application, worker: Worker) -> str:
    """Who has an application of its own: for the record."""
    if not application.shared:
        return "one instance per worker"
    in_thread = threading.current_thread() is not threading.main_thread()
    if in_thread and worker.workers > 1:
        return "one object shared by all loops"
    return "one object per process"
