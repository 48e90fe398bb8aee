"""The commands that serve an application: one entry for each server that people deploy with."""

import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workers.cell import LOOPBACK, Cell
from workers.readback.gil import gil_enabled
from workers.workloads.parts.servers import KEEP_ALIVE_S

PYTHON = "python"  # in a command: the interpreter of the run
BOTH_LOOPS = ("asyncio", "uvloop")
IDLE_S = round(KEEP_ALIVE_S)  # an idle connection is kept as long as by this project's own servers


@dataclass(frozen=True)
class Hosted:
    """An application that a command can serve, as `app`, `mix` and `web` have one.

    `server` is its entry in `SERVERS`; with `command`, the user's own is in `command`.
    `application` is `package.module:name`, with `factory` a function that makes it. `interface` is
    `asgi`, `wsgi` or `aiohttp`; `auto` where the server finds out. `lifespan` (of ASGI) is `on`,
    `off` or `auto`. `health` is a path that answers once the application is ready; empty: any
    answer will do. `budgets` are limits to divide among its workers, as in `db=20,cache=8`.
    `threads` are those of each worker of a server without loops. `held` are the connections that
    clients keep open to each worker; 0: not known. `variables` are environment variables of the
    application, besides those of services and budgets.
    """

    server: str
    application: str
    interface: str
    lifespan: str = "off"
    factory: bool = False
    health: str = ""
    budgets: str = ""
    threads: int = 1
    held: int = 0
    command: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    """The command of a server. `models` are those of its workers; `loops` those that it can run on.

    A server without loops runs in the cells of `asyncio`. `interfaces` are those that it serves.
    """

    arguments: Callable[[Hosted, int, str, str], str]  # of application, workers, loop, model
    models: Callable[[], tuple[str, ...]] = lambda: ("processes",)
    loops: tuple[str, ...] = BOTH_LOOPS
    has_loops: bool = True
    interfaces: tuple[str, ...] = ("asgi", "wsgi")


def _uvicorn(app: Hosted, workers: int, loop: str, _model: str) -> str:
    options = f"--host {LOOPBACK} --port {{port}} --workers {workers} --loop {loop}"
    quiet = "--http httptools --ws none --no-access-log --log-level warning"
    kind = "wsgi" if app.interface == "wsgi" else "auto"
    more = f"--interface {kind} --lifespan {app.lifespan} --timeout-keep-alive {IDLE_S}"
    factory = " --factory" if app.factory else ""
    return f"{PYTHON} -m uvicorn {app.application} {options} {quiet} {more}{factory}"


def _granian(app: Hosted, workers: int, loop: str, _model: str) -> str:
    kind = "wsgi" if app.interface == "wsgi" else "asgi"
    if kind == "asgi" and app.lifespan == "off":
        kind = "asginl"
    options = f"--host {LOOPBACK} --port {{port}} --workers {workers} --loop {loop}"
    more = f"--interface {kind} --http 1 --no-ws --log-level warning"
    if kind == "wsgi" and app.threads > 1:  # else granian has hundreds for each worker
        more += f" --blocking-threads {app.threads}"
    factory = " --factory" if app.factory else ""
    return f"{PYTHON} -m granian {app.application} {options} {more}{factory}"


def _gunicorn(app: Hosted, workers: int, _loop: str, model: str) -> str:
    """Workers in threads are those of one process; forked ones find the application imported.

    All processes accept from one listener, and the first to wake up might take every connection. So
    each takes no more than its share, and one that it may close (it keeps `--threads` fewer idle).
    """
    cell = Cell("", model=model, workers=workers)
    each = cell.loops_each
    count = f"--workers {cell.interpreters} --threads {each * app.threads}"
    count += " --preload" if cell.kind in ("forked", "mixed-forked") else ""
    if cell.interpreters > 1 and app.held:
        count += f" --worker-connections {each * (app.held + app.threads)}"
    options = f"--bind {LOOPBACK}:{{port}} --worker-class gthread {count}"
    more = f"--keep-alive {IDLE_S} --no-control-socket --log-level warning"
    return f"{PYTHON} -m gunicorn {_called(app)} {options} {more}"


def _called(app: Hosted) -> str:
    """The application as servers want it that call a factory in its name."""
    return shlex.quote(f"{app.application}()" if app.factory else app.application)


def _gunicorn_sync(app: Hosted, workers: int, _loop: str, _model: str) -> str:
    """One request at a time in each worker, on a connection that is closed after it."""
    options = f"--bind {LOOPBACK}:{{port}} --worker-class sync --workers {workers}"
    return f"{PYTHON} -m gunicorn {_called(app)} {options} --no-control-socket --log-level warning"


def _gunicorn_aiohttp(app: Hosted, workers: int, _loop: str, _model: str) -> str:
    """Workers of aiohttp's own: a loop each."""
    options = f"--bind {LOOPBACK}:{{port}} --worker-class aiohttp.GunicornWebWorker"
    more = f"--workers {workers} --keep-alive {IDLE_S} --no-control-socket --log-level warning"
    return f"{PYTHON} -m gunicorn {_called(app)} {options} {more}"


def _daphne(app: Hosted, workers: int, _loop: str, _model: str) -> str:
    """A program of ours starts its workers: daphne has none of its own."""
    options = f"--host {LOOPBACK} --port {{port}} --workers {workers}"
    factory = " --factory" if app.factory else ""
    return f"{PYTHON} -m workers.outside.on_daphne {app.application} {options}{factory}"


def _sanic(app: Hosted, workers: int, _loop: str, _model: str) -> str:
    options = f"--host {LOOPBACK} --port {{port}} --workers {workers} --no-access-logs --no-motd"
    factory = " --factory" if app.factory else ""
    return f"{PYTHON} -m sanic {app.application}{factory} {options}"


def _own(app: Hosted, workers: int, _loop: str, _model: str) -> str:
    return app.command.replace("{workers}", str(workers))


def _by_the_gil() -> tuple[str, ...]:
    """Workers are threads where there is no GIL, and processes where there is one."""
    return ("processes" if gil_enabled() else "threads",)


SERVERS: Mapping[str, Server] = {
    "uvicorn": Server(_uvicorn),
    "granian": Server(_granian, _by_the_gil),
    "gunicorn-gthread": Server(
        _gunicorn,
        lambda: ("threads", "processes", "forked", "mixed", "mixed-forked"),
        loops=("asyncio",),
        has_loops=False,
        interfaces=("wsgi",),
    ),
    "gunicorn-sync": Server(
        _gunicorn_sync, loops=("asyncio",), has_loops=False, interfaces=("wsgi",)
    ),
    "gunicorn-aiohttp": Server(_gunicorn_aiohttp, loops=("asyncio",), interfaces=("aiohttp",)),
    "daphne": Server(_daphne, loops=("asyncio",), interfaces=("asgi",)),
    # It serves applications of Sanic alone.
    "sanic": Server(_sanic, loops=("asyncio",), interfaces=("asgi",)),
    "command": Server(_own, lambda: ("threads", "processes"), has_loops=False),
}


def refusal(app: Hosted, model: str, loop: str) -> str | None:
    """The reason that an application cannot be served that way by its `server`; None if it can."""
    server = SERVERS[app.server]
    if not sys.platform.startswith("linux"):
        return "a command is measured from outside on Linux only"
    if model not in server.models():
        return f"workers of {app.server} are {' or '.join(server.models())} here"
    if loop not in server.loops:
        known = " or ".join(server.loops)
        return f"{app.server} is run with the loop {known} only"
    if app.interface not in ("auto", *server.interfaces):
        return f"{app.server} does not serve an application of {app.interface} here"
    return None


def require(server: str) -> None:
    """Make sure that a server is installed.

    Raises:
        ModuleNotFoundError: it is not.
    """
    module = server.partition("-")[0]
    if server != "command" and not importlib.util.find_spec(module):
        raise ModuleNotFoundError(f"{module} is not installed: add it with --with")


def command_line(app: Hosted, workers: int, loop: str, model: str) -> str:
    """The command as text, for people and for the record; `{port}` is still in it."""
    return SERVERS[app.server].arguments(app, workers, loop, model)


def arguments_of(line: str, port: int) -> list[str]:
    """The command as arguments; programs of the interpreter's environment are found there.

    Raises:
        ValueError: a quotation in it is not closed.
    """
    first, *others = shlex.split(line.replace("{port}", str(port)))
    beside = os.path.join(os.path.dirname(sys.executable), first)
    if first == PYTHON:
        first = sys.executable
    elif os.path.exists(beside):
        first = beside
    return [first, *others]
