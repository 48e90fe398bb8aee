"""A sub-interpreter to try imports in: many extension modules refuse to load there."""

import importlib
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self


class Isolation:
    """One sub-interpreter, reused for all workloads tried, since imports take most of the time.

    Needs CPython 3.14 (`concurrent.interpreters`). `loops` has for each of the `installed` loops
    the reason why it cannot be imported there, None if it can.
    """

    def __init__(self, installed: Iterable[str]) -> None:
        self.loops: dict[str, str | None] = dict.fromkeys(installed)

    def __enter__(self) -> Self:
        """Create the sub-interpreter, with this one's import path, and try the loops."""
        self._interpreters: Any = importlib.import_module("concurrent.interpreters")
        self._interpreter = self._interpreters.create()
        try:
            self._interpreter.exec(f"import sys; sys.path[:] = {sys.path!r}")
            for name in self.loops:
                code = f"from workers.loops.registry import import_loop; import_loop({name!r})"
                self.loops[name] = self._refuses(code)
        except BaseException:
            self._interpreter.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the sub-interpreter."""
        self._interpreter.close()

    def refuses_workload(self, path: str, parameters: dict[str, Any]) -> str | None:
        """Why a workload cannot be loaded there with these parameters; None if it can."""
        return self._refuses(
            "from workers.worker.registry import load_workload; "
            "from workers.worker.workload import build; "
            f"build(load_workload({path!r}), {parameters!r}).load()"
        )

    def _refuses(self, code: str) -> str | None:
        try:
            self._interpreter.exec(code)
        except self._interpreters.ExecutionFailed as error:
            return f"does not load in a sub-interpreter: {error.excinfo.msg}"
        return None
