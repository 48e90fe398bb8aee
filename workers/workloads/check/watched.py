"""The workload `app` for a check, not for a measurement: it notes faults that no answer shows.

These are of loops that share an application or a process-wide part of a library.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from workers import Worker, parameter
from workers.cell import Cell
from workers.workloads.app import App
from workers.workloads.check.races import NOT_THE_USERS, interleave, pause_at_first
from workers.workloads.check.websocket_route import on_websocket
from workers.workloads.check.wsgi_on_loop import Wsgi, WsgiAsAsgi
from workers.workloads.parts.applications import Application
from workers.workloads.parts.servers import BaseServer

NOTED = "noted "  # a fact with this before the kind of fault
ANOTHER_S = 0.5  # how long a loop waits for another: to build a middleware stack, to begin
CONTAINERS = (dict, list, set, bytearray, deque)
WITHOUT_STATE = ("starlette", "fastapi")  # their own middleware
DEPTH = 20  # of applications inside applications

_lock = threading.Lock()
_making = threading.Lock()
_wsgi: dict[str, WsgiAsAsgi] = {}  # by the path of the application
_noted: dict[str, str] = {}
_watched: list[object] = []
_together: list[threading.Barrier] = []  # of the loops, where they get first requests at once
_left_running: dict[CodeType, set[int]] = {}  # what lifespans start and leave: its threads
_starting: set[int] = set()  # threads whose application has not started yet


@dataclass
class WatchedApp(App):
    """The workload `app`, with a note of each fault as a fact."""

    untouched: bool = parameter(
        False, "leave the first request to the client, unless health is set"
    )
    together: bool = parameter(False, "begin a request when all loops have received theirs")
    websocket: str = parameter("", "a path: a fact says whether it takes WebSocket connections")

    _loops = 1  # of this process

    def placed(self, cell: Cell, index: int | None) -> None:
        """Note how many loops share this process: only these can meet."""
        super().placed(cell, index)
        self._loops = cell.loops_each

    def load(self) -> None:
        """Import the application, and watch each one that is made."""
        super().load()
        if self._application:
            self._application = _Watching(**vars(self._application))

    def facts(self) -> dict[str, str]:
        """The facts of `app`, and the words of each fault noted in this process."""
        return super().facts() | {f"{NOTED}{kind}": words for kind, words in _noted.items()}

    async def ready(self, server: BaseServer) -> dict[str, str]:
        """Wait for the application as `app` does, or not at all if no request may come first."""
        facts = {} if self.untouched and not self.health else await super().ready(server)
        if self.websocket:
            facts["websocket"] = await on_websocket(server, self.websocket)
        with _lock:
            if self.together:
                pause_at_first()
        return facts

    async def setup(self, worker: Worker) -> None:
        _starting.add(threading.get_ident())
        with _lock:
            _Stack.loops = self._loops
            if self.together and not _together:
                _together.append(threading.Barrier(self._loops))
            if self._loops > 1:
                interleave()
        try:
            await super().setup(worker)
        finally:
            _starting.discard(threading.get_ident())
        _watch_tasks(asyncio.all_tasks())
        _watch_asgiref()


class _Watching(Application):
    def make(self) -> Any:
        with _making:
            made: Any = _wsgi.get(self.path) or super().make()
            if self.interface == "wsgi" and not isinstance(made, WsgiAsAsgi):
                called = _called_together(made, _together[0]) if _together else made
                made = _wsgi[self.path] = WsgiAsAsgi(called)  # one object, which N threads call
            if isinstance(made, WsgiAsAsgi):
                self.interface = "asgi"
        for each in _inside(made):
            _watch(each)
        if _together and self.interface == "aiohttp":
            if self.factory:  # else aiohttp refuses it on all loops but one
                _begin_together(made, _together[0])
            return made
        if _together and not isinstance(made, WsgiAsAsgi):
            return _awaited_together(made, _together[0])
        return made


def _awaited_together(application: Any, barrier: threading.Barrier) -> Callable[..., Any]:
    """An ASGI application that begins each request when all loops have received theirs."""

    async def called(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            _wait(barrier)
        await application(scope, receive, send)

    return called


def _called_together(application: Wsgi, barrier: threading.Barrier) -> Wsgi:
    """The same for a WSGI application: its request has been read when it waits."""

    def called(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        _wait(barrier)
        return application(environ, start_response)

    return called


def _begin_together(application: Any, barrier: threading.Barrier) -> None:
    """The same for an aiohttp Application, which is not wrapped: its outermost middleware waits."""

    async def begin(request: Any, handler: Any) -> Any:
        _wait(barrier)
        return await handler(request)

    application.middlewares.insert(0, sys.modules["aiohttp.web"].middleware(begin))


def _wait(barrier: threading.Barrier) -> None:
    with contextlib.suppress(threading.BrokenBarrierError):  # one loop has no request
        barrier.wait(ANOTHER_S)


def _note(kind: str, words: str) -> None:
    _noted.setdefault(kind, words)


def _watch(application: Any) -> None:
    """Watch an application, once."""
    with _lock:
        if any(each is application for each in _watched):
            return
        _watched.append(application)
        if callable(getattr(application, "build_middleware_stack", None)):
            application.build_middleware_stack = _Stack(application)
        state = getattr(application, "state", None)
        values = getattr(state, "_state", None)
        if isinstance(values, dict):
            object.__setattr__(state, "_state", _State(values))


class _State(dict[str, Any]):
    """The values of `app.state`. A loop that replaces, at its start, another's value is noted."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._setters: dict[str, int] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        thread = threading.get_ident()
        with _lock:
            if thread in _starting:
                setter = self._setters.setdefault(name, thread)
                if setter != thread and not _equal(self.get(name), value):
                    _note(
                        "state-overwritten",
                        f"app.state.{name} is set by the lifespan of each loop, and all loops use "
                        f"the last one ({type(value).__name__})",
                    )
            super().__setitem__(name, value)


class _Stack:
    """Builds a middleware stack; loops that race to build it each get the time to.

    Stacks without state of their own are interchangeable.
    """

    loops = 1  # of this process

    def __init__(self, application: Any) -> None:
        self._build: Callable[[], Any] = application.build_middleware_stack
        self._given = _arguments(application)
        self._count = 0
        self._again = threading.Event()

    def __call__(self) -> Any:
        stack = self._build()
        with _lock:
            self._count += 1
            first = self._count == 1
        if first and self.loops > 1:
            self._again.wait(ANOTHER_S)
        elif not first:
            self._again.set()
            for name in self._with_state(stack):
                _note(
                    "middleware-built-twice",
                    f"the middleware stack is built by each loop that comes first: there are "
                    f"several {name}, and only one of them is used from then on",
                )
        return stack

    def _with_state(self, stack: Any) -> Iterator[str]:
        """Middleware with a container or a lock of its own, which another instance has not."""
        for each in _inside(stack):
            kind = type(each)
            if kind.__module__.partition(".")[0] in WITHOUT_STATE or callable(
                getattr(each, "build_middleware_stack", None)
            ):
                continue
            for name, value in getattr(each, "__dict__", {}).items():
                if id(value) not in self._given and _is_state(value):
                    yield f"{kind.__name__} with their own {name}"


def _arguments(application: Any) -> set[int]:
    """The arguments of an application's middleware, by id: the same for each instance."""
    found = set()
    for each in getattr(application, "user_middleware", ()):
        given = (*getattr(each, "args", ()), *getattr(each, "kwargs", {}).values())
        found |= {id(value) for value in given}
    return found


def _is_state(value: object) -> bool:
    module = type(value).__module__.partition(".")[0]
    return isinstance(value, CONTAINERS) or module in ("threading", "_thread", "asyncio", "queue")


def _inside(application: Any) -> Iterator[Any]:
    """An application and those that it wraps, from the outermost."""
    for _ in range(DEPTH):
        if application is None:
            return
        yield application
        application = getattr(application, "app", None)


def _equal(one: object, other: object) -> bool:
    """Return True if two values are equal and cannot change, so that either may be kept."""
    if one is other:
        return True
    try:
        return hash(one) == hash(other) and one == other
    except Exception:  # what can change has no hash
        return False


def _watch_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Note a task that the start of more than one loop has left running."""
    for task in tasks:
        code = _code_of(task.get_coro())
        if code is None or code.co_filename.startswith(NOT_THE_USERS):
            continue
        with _lock:
            loops = _left_running.setdefault(code, set())
            loops.add(threading.get_ident())
            if len(loops) > 1:
                _note(
                    "runs-on-each-loop",
                    f"{code.co_qualname} ({os.path.basename(code.co_filename)}, line "
                    f"{code.co_firstlineno}) is started with each loop, and goes on running",
                )


def _code_of(running: object) -> CodeType | None:
    """The code that a task runs; inside a task of anyio, the code that anyio runs."""
    while inspect.iscoroutine(running):
        if "/anyio/" not in running.cr_code.co_filename:
            return running.cr_code
        running = running.cr_await
    return None


def _watch_asgiref() -> None:
    """Note that more than one loop uses the one thread of asgiref's sensitive code."""
    asgiref = sys.modules.get("asgiref.sync")
    if asgiref is None:
        return
    executor = asgiref.SyncToAsync.single_thread_executor
    with _lock:
        if any(each is executor for each in _watched):
            return
        _watched.append(executor)
        submit, loops = executor.submit, set()

        def noted(*args: Any, **kwargs: Any) -> Any:
            loops.add(threading.get_ident())
            if len(loops) > 1:
                _note(
                    "one-thread-for-all",
                    "sync_to_async runs the synchronous code of all loops in one thread",
                )
            return submit(*args, **kwargs)

        executor.submit = noted
