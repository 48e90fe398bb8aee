"""The full stack: a row of a database as JSON, through proxy, application server and pooler."""

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workers import Worker, parameter
from workers.cell import LOOPS, SHARING, Cell
from workers.worker.shared import environment_on_loop
from workers.workloads.parts.applications import share_variables
from workers.workloads.parts.clients import service_variables
from workers.workloads.parts.first_request import check_row, first_answer, until_started
from workers.workloads.parts.served import Served, preload, server_of
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.stack import APPLICATIONS, CALLED, NOT_HERE, Application
from workers.workloads.parts.stack.rows import DRIVER, ROWS, SERVED_BY

if TYPE_CHECKING:  # imported where it is used: most runs have no command
    from workers.workloads.parts.commands import Hosted

ROW = "/row"


@dataclass
class Web(Served):
    """A row, read from PostgreSQL by a random key, as JSON.

    One operation: one `GET /row` answered. The key is a random one that exists; the answer is
    `{"a": key, "b": 20 letters}`. Each request is one statement.

    `stack` is application and server. `loops` is this project's server on each loop; the others are
    commands that people deploy with, measured from outside (`workers.outside`). Applications on a
    loop use asyncpg, those without one psycopg 3, which is pure Python here; `starlette-psycopg`
    runs on a loop and uses psycopg 3. Servers without loops have as many threads per worker as
    their pool has connections; gunicorn's `sync` has one.

    `db_connections` are those of all workers, divided among them; with `pool_per_worker` each
    worker has so many instead.
    """

    stack: Literal[
        "starlette/loops",
        "starlette/uvicorn",
        "starlette/granian",
        "starlette/daphne",
        "starlette-psycopg/loops",
        "aiohttp/loops",
        "aiohttp/gunicorn-aiohttp",
        "sanic/loops",
        "sanic/uvicorn",
        "sanic/sanic",
        "flask/gunicorn-sync",
        "flask/gunicorn-gthread",
        "flask/granian",
        "bottle/gunicorn-sync",
        "bottle/gunicorn-gthread",
        "falcon/gunicorn-sync",
        "falcon/gunicorn-gthread",
        "flask/gunicorn-gevent",
        "flask/meinheld",
        "flask/uwsgi",
        "flask-psycopg2/gunicorn-sync",
    ] = parameter("starlette/loops", "application/server")
    db_connections: int = parameter(16, "database connections, all workers together", at_least=1)
    pool_per_worker: int = parameter(
        0, "database connections of each worker; 0: db_connections, divided", at_least=0
    )
    rows: int = parameter(1_000_000, "rows of the table", at_least=1)
    pooler: Literal["none", "pgbouncer"] = parameter("none", "before the database")
    proxy: Literal["none", "nginx"] = parameter("none", "before the application")

    services = ("postgres",)
    divided = ("db_connections", "pool_per_worker")

    def __post_init__(self) -> None:
        """Begin with one worker, until it is known how many there are."""
        super().__post_init__()
        self._workers = self._loops = 1

    @property
    def server(self) -> str:
        """Its server: `loops`, or one of `workers.workloads.parts.commands.SERVERS`."""
        return self.stack.partition("/")[2]

    def hosted(self) -> "Hosted":
        from workers.workloads.parts.commands import Hosted

        return Hosted(
            server=self.server,
            application=self._application.path,
            interface=self._application.interface,
            lifespan="on",
            factory=True,
            health=ROW,
            budgets=f"db={self._connections}",
            threads=max(1, self._connections // self._workers),  # one for each connection
            variables=self.variables(),
        )

    @property
    def _application(self) -> Application:
        return APPLICATIONS[self.stack.partition("/")[0]]

    @property
    def _connections(self) -> int:
        return self.pool_per_worker * self._workers or self.db_connections

    def client_requests(self) -> list[dict[str, Any]]:
        return [{"path": ROW, "status": 200}]

    def refuses(self, model: str, loop: str) -> str | None:
        """Refuse stacks that do not run here, sub-interpreters, and what the server refuses."""
        for part in (self.stack, *self.stack.split("/")):
            if part in NOT_HERE:
                return NOT_HERE[part]
        if model == "interpreters":
            return "applications run in threads or in processes"
        if self.server != LOOPS:
            from workers.workloads.parts.commands import refusal  # costs the others memory

            return refusal(self.hosted(), model, loop)
        if model in SHARING and self._application.module == "sanic":
            return "Sanic rewrites its own methods as an application starts: one per process"
        return super().refuses(model, loop)

    def placed(self, cell: Cell, index: int | None) -> None:
        """Note how many workers share the connections, and how many loops one application.

        Raises:
            ValueError: there are fewer connections than workers.
        """
        workers = self._workers = cell.workers
        self._loops = cell.loops_each if self.server == "granian" else 1
        if self._connections < workers:
            raise ValueError(
                f"{self._connections} database connections cannot be divided among {workers} "
                "workers: raise db_connections"
            )

    def load(self) -> None:
        """Import the application and its server, before threads and before a fork."""
        if self.server != LOOPS:
            from workers.workloads.parts.commands import require

            for package in (self.server, self._application.module, self._application.driver):
                require(package)
        else:
            self._module = importlib.import_module(self._application.path.partition(":")[0])
            importlib.import_module(self._application.driver)
            preload(self._application.interface)

    def facts(self) -> dict[str, str]:
        """Versions of framework and driver; of a server on a loop also what its answer shows."""
        return self._application.facts() | self._facts

    def variables(self) -> dict[str, str]:
        """Environment variables of its application, besides those of services and budgets."""
        return {
            ROWS: str(self.rows),
            DRIVER: self._application.driver,
            SERVED_BY: str(self._loops),
        }

    async def start(self, worker: Worker) -> BaseServer:
        """Make the application with a pool of its own, start it, and check its first answer."""
        share = share_variables(worker.workers, worker.index, {"db": self._connections})
        services = service_variables(worker.services)
        async with environment_on_loop(share | services | self.variables()):
            made = getattr(self._module, CALLED)()
            server = server_of(self._application.interface, worker, made, lifespan="on")
            self._server = server
            await until_started(server)
        answer = await first_answer(server, self.client_scheme(), {"path": ROW})
        check_row(answer, self.rows)
        self._facts = answer.facts
        return server
