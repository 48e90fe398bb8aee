"""The GIL, verified instead of assumed: whether it is enabled, and which import enabled it."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType

# CPython enables the GIL for as long as it loads an extension, which takes milliseconds.
LOOKS, LOOK_S = 50, 0.002


def gil_enabled() -> bool:
    """Return True if the GIL is enabled now (always before CPython 3.13)."""
    check = getattr(sys, "_is_gil_enabled", None)
    return True if check is None else check()


def stays_enabled() -> bool:
    """Whether the GIL is enabled for good, not only while another thread loads an extension."""
    for _ in range(LOOKS):
        if not gil_enabled():
            return False
        time.sleep(LOOK_S)
    return True


class GilWatch:
    """Finds the extension module whose import enabled the GIL.

    CPython leaves the GIL enabled after an extension that does not declare that it runs without
    one. Checking after each load finds that extension. One that is imported while another is loaded
    is checked together with it. CPython's own warning would name it, too, but a warning filter
    changes the ambient context, of which every handle then keeps a copy.
    """

    def __init__(self) -> None:
        self.enabled_by: str | None = None
        self._inside = threading.local()  # an attribute while an extension is loaded

    def install(self) -> None:
        """Watch every extension module from now on, if the GIL is off."""
        if gil_enabled():
            return
        create, execute = ExtensionFileLoader.create_module, ExtensionFileLoader.exec_module

        def watched_create(loader: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
            with self.watching(spec.name):
                return create(loader, spec)

        def watched_execute(loader: ExtensionFileLoader, module: ModuleType) -> None:
            with self.watching(module.__name__):
                execute(loader, module)

        ExtensionFileLoader.create_module = watched_create  # type: ignore[assignment, method-assign]
        ExtensionFileLoader.exec_module = watched_execute  # type: ignore[assignment, method-assign]

    @contextmanager
    def watching(self, module: str) -> Iterator[None]:
        """Load a module; the outermost load of a thread is checked."""
        if hasattr(self._inside, "load"):
            yield
            return
        self._inside.load = module
        try:
            yield
        finally:
            del self._inside.load
        self._check(module)

    def _check(self, module: str) -> None:
        if self.enabled_by is None and stays_enabled():
            self.enabled_by = module
