"""The GIL, verified instead of assumed: whether it is enabled, and which import enabled it."""

import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType


def gil_enabled() -> bool:
    """Whether the GIL is enabled now (always before CPython 3.13)."""
    check = getattr(sys, "_is_gil_enabled", None)
    return True if check is None else check()


class GilWatch:
    """Finds the extension module whose import enabled the GIL.

    CPython enables the GIL while it loads an extension that does not declare that it runs without
    one. Checking after each load finds that extension. CPython's own warning would name it, too,
    but a warning filter changes the ambient context, of which every handle then keeps a copy.
    """

    def __init__(self) -> None:
        self.enabled_by: str | None = None

    def install(self) -> None:
        """Watch every extension module from now on, if the GIL is off."""
        if gil_enabled():
            return
        create, execute = ExtensionFileLoader.create_module, ExtensionFileLoader.exec_module

        def watched_create(loader: ExtensionFileLoader, spec: ModuleSpec) -> ModuleType:
            module = create(loader, spec)
            self._check(spec.name)
            return module

        def watched_execute(loader: ExtensionFileLoader, module: ModuleType) -> None:
            execute(loader, module)
            self._check(module.__name__)

        ExtensionFileLoader.create_module = watched_create  # type: ignore[assignment, method-assign]
        ExtensionFileLoader.exec_module = watched_execute  # type: ignore[assignment, method-assign]

    def _check(self, module: str) -> None:
        if self.enabled_by is None and gil_enabled():
            self.enabled_by = module
