"""Your own application, served on each worker's loop and loaded from outside."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workers import Worker, Workload, parameter
from workers.cell import LOOPS, Cell
from workers.worker.shared import environment, environment_on_loop
from workers.workloads.parts.applications import (
    Application,
    ApplicationError,
    load_application,
    read_budgets,
    share_variables,
)
from workers.workloads.parts.first_request import until_ready, until_started
from workers.workloads.parts.served import Served, pool_in_use, preload, server_of, size_pool
from workers.workloads.parts.servers import BaseServer

if TYPE_CHECKING:  # imported where it is used: most runs have no command
    from workers.workloads.parts.commands import Hosted


@dataclass
class _Which(Workload):
    """The application and how it is made: the first parameters of `App`."""

    application: str = parameter("", "the application, as package.module:name")
    factory: bool = parameter(False, "call it to make an application for each worker")
    interface: Literal["auto", "asgi", "aiohttp", "wsgi"] = parameter("auto", "what it is")
    lifespan: Literal["auto", "on", "off"] = parameter("auto", "whether ASGI lifespans are used")
    health: str = parameter("", "a path that answers once the application is ready")
    budgets: str = parameter("", "limits to divide among workers, as in db=20,cache=8")


@dataclass
class App(Served, _Which):
    """Requests answered by your own application on each loop, sent by a load generator.

    One operation: one request answered, counted when the answer has been written. Whether it is the
    right answer is for the load generator to say.

    `application` is `package.module:name`. With `factory` it is a function that makes the
    application, and each worker has its own; else workers in threads share the object. ASGI 3 runs
    on uvicorn with httptools, an aiohttp Application on aiohttp's server; each loop has a lifespan
    and a state of its own. WSGI has no loop: measure it with one of the other servers.

    `pool` sizes the loop's default executor and anyio's limiter, which each loop has of its own.

    `loops` is this project's server on each loop. The other `server`s are commands that people
    deploy with, measured from outside (`workers.outside`).

    While a worker's application is made, `SCALING_WORKERS`, `SCALING_WORKER_INDEX` and, for each of
    `budgets`, `SCALING_BUDGET_<NAME>` (its share) are in the environment.
    """

    server: Literal[
        "loops",
        "uvicorn",
        "granian",
        "gunicorn-gthread",
        "command",
    ] = parameter("loops", "what serves it")
    command: str = parameter("", "with server=command: the command, with {port} and {workers}")
    pool: int = parameter(
        0, "threads in each loop's pool; 0: as many as its libraries have", at_least=0
    )

    def __post_init__(self) -> None:
        """Begin without an application: a description loads every choice."""
        super().__post_init__()
        self._at_import: dict[str, str] = {}
        self._alike = ""
        self._application: Application | None = None
        self._budgets: dict[str, int] = {}

    def hosted(self) -> "Hosted":
        from workers.workloads.parts.commands import Hosted

        return Hosted(
            server=self.server,
            application=self.application,
            interface=self.interface,
            lifespan=self.lifespan,
            factory=self.factory,
            health=self.health,
            budgets=self.budgets,
            held=self.connections if self.keep_alive else 0,
            command=self.command,
        )

    def client_requests(self) -> list[dict[str, Any]]:
        return [{"path": "/"}]

    def refuses(self, model: str, loop: str) -> str | None:
        """Sub-interpreters load neither httptools nor most of what applications import."""
        if model == "interpreters":
            return "applications run in threads or in processes"
        if self.pool and self.server != LOOPS:
            return "pool sizes the pools of this project's loops: it needs server=loops"
        if self.server != LOOPS:
            from workers.workloads.parts.commands import refusal  # costs the others memory

            return refusal(self.hosted(), model, loop)
        return super().refuses(model, loop)

    def placed(self, cell: Cell, index: int | None) -> None:
        """Keep the variables that the application finds while it is imported."""
        budgets, copies = read_budgets(self.budgets), cell.interpreters
        self._at_import = share_variables(cell.workers, index, budgets, copies)
        self._alike = "all loops" if copies == 1 else "the loops of a process"

    def load(self) -> None:
        """Import the application and its server; without an application, nothing."""
        self._budgets = read_budgets(self.budgets)
        if self.server != LOOPS:
            from workers.workloads.parts.commands import require

            require(self.server)
        elif self.application:
            with environment(self._at_import):
                self._application = load_application(self.application, self.factory, self.interface)
            preload(self._application.interface)

    async def start(self, worker: Worker) -> BaseServer:
        """Make the application, start it, and wait until it is ready.

        Lifespans that read a budget run one after the other; without budgets, together.

        Raises:
            ApplicationError: it cannot be used, does not start or never gets ready.
        """
        application = self._application
        if application is None:
            raise ApplicationError(
                "no application was given: run it with scaling app package.module:name"
            )
        share = share_variables(worker.workers, worker.index, self._budgets)
        async with environment_on_loop(share):
            made = application.make()
            size_pool(self.pool)
            assert application.interface
            server = server_of(application.interface, worker, made, lifespan=self.lifespan)
            self._server = server
            if self._budgets:
                await until_started(server)
        if not self._budgets:
            await until_started(server)
        self._facts = await self.ready(server)
        self._facts["application"] = _whose(application, worker, self._alike)
        self._facts |= await pool_in_use(self.pool)
        return server

    async def ready(self, server: BaseServer) -> dict[str, str]:
        """Wait until the application answers; return the facts that its answer shows."""
        return await until_ready(server, self.health)


def _whose(application: Application, worker: Worker, alike: str) -> str:
    """The sharing of the application, for the record."""
    if not application.shared:
        return "one instance per worker"
    in_thread = threading.current_thread() is not threading.main_thread()
    if in_thread and worker.workers > 1:
        return f"one object shared by {alike}"
    return "one object per process"
