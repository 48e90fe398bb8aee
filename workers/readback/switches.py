"""Switches of an arm: settings that someone recommends, set and read back.

The name of a switch decides how it is set and where it is read:

    PYTHON_TLBC                       an environment variable, with which the process was started
    LD_PRELOAD                        the same; it is read from the libraries that are loaded
    sys.flags.thread_inherit_context  a flag that such a variable has set
    gc.freeze                         a call (`CALLS`)
    asyncio.events._USE_…             any other name with dots: an attribute of a module or class

A switch may have no visible effect, so the switch itself is read back, and whether an attribute
was there before.
"""

import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

type Value = bool | int | float | str

FLAGS = "sys.flags."
PRELOAD = "LD_PRELOAD"
MODULE_BODY = "<module>"
CO_NESTED = 0x10  # of a code object; `inspect` would cost memory


class Call(NamedTuple):
    """A switch that is a call: `make` makes it, `read` says whether it took effect.

    `when_ready`: it is made once the workers are warmed up, just before the window.
    """

    make: Callable[[Any], object]
    read: Callable[[], Value]
    when_ready: bool = False


class _Freeze:
    """`gc.freeze`: whether more objects are frozen than before (a fork freezes some, too)."""

    def __init__(self) -> None:
        self._before = sys.maxsize

    def make(self, _value: bool) -> None:
        self._before = gc.get_freeze_count()
        gc.freeze()

    def read(self) -> bool:
        return gc.get_freeze_count() > self._before


class _DeferredFunctions:
    """Deferred reference counting, asked for on every function that CPython gave it already.

    CPython gives it to functions that are not nested in others (`PyFunction_New`), bodies of
    modules apart, which are made in another way and are run once. It is read back
    that there were some, and that the call changed none of them.
    """

    def __init__(self) -> None:
        self._changed: list[int] = []

    def make(self, _value: bool) -> None:
        import ctypes  # costs memory: only this arm has it
        from types import FunctionType

        enable = ctypes.pythonapi.PyUnstable_Object_EnableDeferredRefcount
        enable.argtypes = [ctypes.py_object]
        self._changed = [
            enable(each)
            for each in gc.get_objects()
            if isinstance(each, FunctionType)
            and not each.__code__.co_flags & CO_NESTED
            and each.__name__ != MODULE_BODY
        ]

    def read(self) -> bool:
        return bool(self._changed) and not any(self._changed)


_freeze, _deferred = _Freeze(), _DeferredFunctions()

CALLS: dict[str, Call] = {
    "gc.freeze": Call(_freeze.make, _freeze.read, when_ready=True),
    "sys.setswitchinterval": Call(sys.setswitchinterval, lambda: round(sys.getswitchinterval(), 9)),
    "PyUnstable_Object_EnableDeferredRefcount": Call(_deferred.make, _deferred.read),
}


class Switches:
    """The switches of one interpreter."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        """Make the calls and set the attributes among them; call it before any loop is made.

        Raises:
            ImportError: there is no such module.
            AttributeError: its module has no such class.
        """
        self._values = values
        self._existed: dict[str, bool | None] = {}
        for name, value in values.items():
            self._existed[name] = None
            if name in CALLS:
                if not CALLS[name].when_ready:
                    CALLS[name].make(value)
            elif _is_attribute(name):
                owner, attribute = _place(name)
                self._existed[name] = hasattr(owner, attribute)
                setattr(owner, attribute, value)

    def ready(self) -> None:
        """Make the calls that wait until the workers are warmed up."""
        for name, value in self._values.items():
            if name in CALLS and CALLS[name].when_ready:
                CALLS[name].make(value)

    def read_back(self) -> list[dict[str, object]]:
        """List the switches for the record: current value, and whether it existed before."""
        return [
            {"name": name, "value": _current(name, value), "was_there": self._existed[name]}
            for name, value in self._values.items()
        ]


def _is_attribute(name: str) -> bool:
    return "." in name and not name.startswith(FLAGS)


def _place(name: str) -> tuple[object, str]:
    """The module, or the class in it, that has the attribute; and the attribute's own name."""
    path, _, attribute = name.rpartition(".")
    module, _, maybe_class = path.rpartition(".")
    if maybe_class.lstrip("_")[:1].isupper():
        return getattr(importlib.import_module(module), maybe_class), attribute
    return importlib.import_module(path), attribute


def _current(name: str, asked: Value) -> Value | None:
    if name in CALLS:
        return CALLS[name].read()
    if name == PRELOAD:
        return asked if _is_loaded(str(asked)) else None
    if not _is_attribute(name):
        flag = name.removeprefix(FLAGS)
        return os.environ.get(name) if flag == name else getattr(sys.flags, flag, None)
    owner, attribute = _place(name)
    value = getattr(owner, attribute, None)
    return value if isinstance(value, bool | int | float | str) else None


def _is_loaded(library: str) -> bool:
    """Return True if a library of that name is part of this process (Linux).

    The file may have a longer version in its name: `libtcmalloc.so.4` is `libtcmalloc.so.4.5.10`.
    """
    try:
        with open("/proc/self/maps") as maps:
            names = {line.rstrip().rpartition("/")[2] for line in maps}
            return any(f"{name}.".startswith(f"{library}.") for name in names)
    except OSError:  # not Linux: not known, and so not proven
        return False
