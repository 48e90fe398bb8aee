"""Finds a user's application, what it is, and how each worker gets one: `package.module:name`.

A factory makes an application for each worker. An object there is once per process, so workers in
threads share it.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import functools
import importlib
import inspect
import os
import socket
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, get_args

from workers.cell import share
from workers.worker.missing import missing_package

type Interface = Literal["asgi", "aiohttp", "wsgi"]

INTERFACES: tuple[Interface, ...] = get_args(Interface.__value__)
NEAR_MOST = 3  # names to suggest
OF_ASGI = 3  # arguments: scope, receive, send
OF_ASGI_2 = 1
OF_WSGI = 2  # environ, start_response


class ApplicationError(RuntimeError):
    """The application cannot be used; the message is one line that says what to do."""


@dataclass
class Application:
    """An application as it was found."""

    path: str
    factory: bool
    interface: Interface | None  # None: a factory's, until it has made one
    _found: Any

    @property
    def shared(self) -> bool:
        """True if all workers of a process have the same object.

        Not with a factory, nor where a worker has imported the module for itself.
        """
        if self.factory:
            return False
        module_name, _, name = self.path.partition(":")
        return attrgetter(name)(sys.modules[module_name]) is self._found

    def make(self) -> Any:
        """The application of one worker; from then on `interface` is known.

        Raises:
            ApplicationError: the factory failed, or made something else.
        """
        if not self.factory:
            return self._found
        try:
            made = self._found()
        except Exception as error:
            raise ApplicationError(f"the factory {self.path} failed: {one_line(error)}") from error
        if inspect.iscoroutine(made):
            made.close()
            raise ApplicationError(
                f"the factory {self.path} is async: give a plain function, and do what waits in "
                "the application's lifespan"
            )
        self.interface = interface_of(made, f"what {self.path} makes", self.interface)
        return made


def load_application(path: str, factory: bool, interface: str = "auto") -> Application:
    """Import an application; `interface` says what it is, or is found out with `auto`.

    Raises:
        ApplicationError: it cannot be imported, is not there, or is no application.
    """
    module_name, colon, name = path.partition(":")
    if not (colon and name and module_name):
        raise ApplicationError(f"{path!r} is no application: write it as package.module:name")
    found = _attribute(_import(module_name), module_name, name)
    asked = None if interface == "auto" else _known(interface)
    if factory:
        if not callable(found):
            raise ApplicationError(f"{path} is not a function: leave --factory out")
        if _is_aiohttp(found) or _arguments(found) in (OF_ASGI, OF_WSGI):
            raise ApplicationError(f"{path} is an application itself: leave --factory out")
        return Application(path, factory, asked, found)
    return Application(path, factory, interface_of(found, path, asked), found)


def interface_of(found: Any, path: str, asked: Interface | None = None) -> Interface:
    """The interface of an application: by its class, else by the arguments that it takes.

    Raises:
        ApplicationError: it is none, or not what was `asked`.
    """
    is_aiohttp = _is_aiohttp(found)
    if asked:
        if (asked == "aiohttp") != is_aiohttp or not (is_aiohttp or callable(found)):
            raise ApplicationError(
                f"{path} is {_kind_of(found)}, not an application for --interface {asked}"
            )
        return asked
    if is_aiohttp:
        return "aiohttp"
    taken = _arguments(found)
    if taken == OF_ASGI:
        return "asgi"
    if taken == OF_WSGI:
        return "wsgi"
    if taken == 0:
        raise ApplicationError(
            f"{path} is {_kind_of(found)} without arguments: if it makes the application, "
            "add --factory"
        )
    if taken == OF_ASGI_2:
        raise ApplicationError(
            f"{path} takes one argument, as ASGI 2 did: wrap it with asgiref.compatibility."
            "guarantee_single_callable"
        )
    raise ApplicationError(
        f"{path} is {_kind_of(found)}, which is no application: expected ASGI 3, WSGI or an "
        "aiohttp Application (--interface decides)"
    )


def _known(interface: str) -> Interface:
    for each in INTERFACES:
        if each == interface:
            return each
    raise ApplicationError(f"interface {interface!r} is unknown; known: {', '.join(INTERFACES)}")


def _import(name: str) -> types.ModuleType:
    try:
        with no_server(name):
            return importlib.import_module(name)
    except ApplicationError:
        raise
    except (Exception, SystemExit) as error:
        missing = missing_package(error)
        if missing == name.partition(".")[0]:
            raise ApplicationError(
                f"there is no module {missing!r} on the path: add its folder with --path"
            ) from error
        advice = f"\nAdd the package that has {missing} with --with" if missing else ""
        raise ApplicationError(f"{name} cannot be imported: {one_line(error)}{advice}") from error


def _attribute(module: types.ModuleType, module_name: str, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), NEAR_MOST)
            hint = f"; did you mean {' or '.join(near)}?" if near else _candidates(module)
            raise ApplicationError(f"{module_name} has no {part!r}{hint}")
        found = getattr(found, part)
    return found


def _candidates(module: types.ModuleType) -> str:
    """The applications that a module has, as a hint."""
    found = []
    for name, value in vars(module).items():
        own = not name.startswith("_") and not isinstance(value, types.ModuleType)
        if own and not inspect.isclass(value) and not inspect.isroutine(value):
            with contextlib.suppress(ApplicationError):
                interface_of(value, name)
                found.append(name)
    return f"; it has {', '.join(found[:NEAR_MOST])}" if found else ""


def _is_aiohttp(found: Any) -> bool:
    web = sys.modules.get("aiohttp.web")  # an application of it cannot exist before
    return web is not None and isinstance(found, web.Application)


def _arguments(found: Any) -> int | None:
    """The number of arguments that a call needs; None if it cannot be called or does not say."""
    if not callable(found):
        return None
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        call = found if inspect.isroutine(found) else type(found).__call__
        return OF_ASGI if inspect.iscoroutinefunction(call) else None
    needed = [
        each
        for each in parameters
        if each.kind in places and each.default is inspect.Parameter.empty
    ]
    return len(needed)


def _kind_of(found: Any) -> str:
    if inspect.isclass(found):
        return "a class"
    if inspect.isroutine(found) or isinstance(found, functools.partial):
        return "a function"
    return f"an object of class {type(found).__name__}"


def one_line(error: BaseException) -> str:
    """An error in one line: its place in the user's code, else that which raised it, and what a
    taken port means.
    """
    lines = str(error).strip().splitlines()
    words = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        words += ". It binds a port of its own, which only one worker can have: leave that out"
    places = [(trace.tb_frame.f_code.co_filename, trace.tb_lineno) for trace in _traces(error)]
    written = [each for each in places if not each[0].startswith("<")]  # not made at run time
    if not written:
        return words
    of_user = [each for each in written if not each[0].startswith(not_the_users())]
    file, line = (of_user or written)[-1]
    return f"{words} ({os.path.basename(file)}, line {line})"


def _traces(error: BaseException) -> Iterator[types.TracebackType]:
    trace = error.__traceback__
    while trace:
        yield trace
        trace = trace.tb_next


@functools.cache
def not_the_users() -> tuple[str, ...]:
    """The prefixes of files that no user wrote: of Python, of packages, and ours."""
    import sysconfig  # costs a child memory

    paths = (sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib"))
    return ("<", *paths, f"{__file__.rpartition('/workloads/')[0]}/")


@contextlib.contextmanager
def no_server(name: str) -> Iterator[None]:
    """While the block runs, an attempt to listen is an error: an import must not start a server.

    Else it would serve, and never return.
    """

    def listen(_socket: socket.socket, *_backlog: int) -> None:
        raise ApplicationError(
            f"{name} starts a server when it is imported: move that below if __name__ == '__main__'"
        )

    # uvloop listens in C, but both bind with the socket's method.
    def bind(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[1]:
            listen(self)
        socket.SocketType.bind(self, address)

    socket.socket.listen = listen  # type: ignore[assignment, method-assign]
    socket.socket.bind = bind  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        del socket.socket.listen, socket.socket.bind


def share_variables(
    workers: int, index: int | None, budgets: Mapping[str, int], copies: int = 1
) -> dict[str, str]:
    """The environment variables in which an application finds its share.

    `index` None: the application is one for all workers and has all of each budget, divided among
    the `copies` that will be made of it.
    """
    variables = {"SCALING_WORKERS": str(workers)}
    if index is not None:
        variables["SCALING_WORKER_INDEX"] = str(index)
    for name, total in budgets.items():
        own = total // copies if index is None else share(total, index, workers)
        variables[f"SCALING_BUDGET_{name.upper()}"] = str(own)
    return variables


def read_budgets(text: str) -> dict[str, int]:
    """Read `db=20,cache=8`.

    Raises:
        ApplicationError: it is not that.
    """
    budgets: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, amount = part.partition("=")
        if not (name.isidentifier() and amount.isdecimal()):
            raise ApplicationError(f"budget {part!r}: expected a name and a number, as in db=20")
        budgets[name] = int(amount)
    return budgets
