"""The GIL, verified instead of assumed: is it on, and which import turned it on."""

import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType


def gil_enabled() -> bool:
    """Tell whether the GIL is on at this moment (always so before CPython 3.13)."""
    check = getattr(sys, "_is_gil_enabled", None)
    return True if check is None else check()


class GilWatch:
    """Names the extension module whose loading turned the GIL on.

    CPython enables the GIL while it loads an extension that does not declare support for running
    without; looking before and after each load finds the culprit, without warning filters (those
    would change the ambient context of every handle, see PITFALLS 14).
    """

    def __init__(self) -> None:
        self.enabled_by: str | None = None

    def install(self) -> None:
        """Watch every extension module from now on; only where the GIL is off."""
        if gil_enabled():
            return
        create, execute = ExtensionFileLoader.create_module, ExtensionFileLoader.exec_module

        def watched_create(loader: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
            module = create(loader, spec)
            self._look(spec.name)
            return module

        def watched_execute(loader: ExtensionFileLoader, module: ModuleType) -> None:
            execute(loader, module)
            self._look(module.__name__)

        ExtensionFileLoader.create_module = watched_create  # type: ignore[assignment, method-assign]
        ExtensionFileLoader.exec_module = watched_execute  # type: ignore[assignment, method-assign]

    def _look(self, module: str) -> None:
        if self.enabled_by is None and gil_enabled():
            self.enabled_by = module
