"""The notes that each process of a command writes of itself, and their reader.

Each process has a file of its own, written at its start, after a fork, when a loop was made, and
when the GIL was turned on. That happens only while an extension module is loaded, and each load is
looked at, so the file always has the state of now.
"""

import contextlib
import importlib.machinery
import json
import os
import sys
import threading
import time
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from workers.readback.gil import GilWatch, gil_enabled, stays_enabled
from workers.readback.process import Readback

RUNNERS = "asyncio.runners"


class Notes(GilWatch):
    """The state of this process, and the file that it is written to."""

    def __init__(self, folder: str, asked: dict[str, Any]) -> None:
        super().__init__()
        self._folder = folder
        self._lock = threading.Lock()
        self._has_gil = gil_enabled()  # no other thread yet
        readback = Readback(self)
        self.install()
        readback.imported(
            collect=asked["gc"], switches=asked["switches"], threshold=asked["gc_threshold"]
        )
        self._process = readback.result(debug=_debug())
        self._loops: list[tuple[int, str]] = []  # when, monotonic ns, and the class
        self._write()
        os.register_at_fork(after_in_child=self._forked)

    def loop_made(self, loop: object) -> None:
        """Note an event loop."""
        kind = type(loop)
        with self._lock:
            name = f"{kind.__module__}.{kind.__qualname__}"
            self._loops.append((time.monotonic_ns(), name))
        self._write()

    def _check(self, module: str) -> None:
        known = self.enabled_by
        super()._check(module)
        if self.enabled_by != known:
            self._write()

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._loops.clear()
        self._write()

    def _write(self) -> None:
        document = {
            "pid": os.getpid(),
            "process": self._process,
            "gil": self._has_gil or self.enabled_by is not None or stays_enabled(),
            "enabled_by": self.enabled_by,
            "loops": self._loops,
        }
        with self._lock:
            file = os.path.join(self._folder, f"{os.getpid()}.json")
            with open(f"{file}.new", "w", encoding="utf-8") as new:
                json.dump(document, new)
            os.replace(f"{file}.new", file)


class _LoopWatch:
    """Makes `asyncio` report the loops that are made to be run, once something imports it."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the one module, and watch what is in it."""
        if name != RUNNERS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def watched(module: ModuleType) -> None:
            execute(module)
            self._watch(module)

        spec.loader.exec_module = watched  # type: ignore[method-assign]
        return spec

    def _watch(self, runners: ModuleType) -> None:
        notes, run, package = self._notes, runners.Runner.run, sys.modules["asyncio"]
        chosen = package.set_event_loop

        def watched_run(runner: Any, *arguments: Any, **options: Any) -> Any:
            notes.loop_made(runner.get_loop())
            return run(runner, *arguments, **options)

        noted: list[Any] = []

        def watched_choice(loop: Any) -> None:  # of servers that use no Runner
            chosen(loop)
            if loop is not None and loop not in noted:  # Sanic sets it for each connection
                noted.append(loop)
                notes.loop_made(loop)

        runners.Runner.run = watched_run
        package.set_event_loop = watched_choice  # type: ignore[attr-defined]


def begin(asked: str) -> None:
    """Note this process; `asked` is a JSON object with the folder and the arm's settings."""
    settings = json.loads(asked)
    notes = Notes(settings["folder"], settings)
    sys.meta_path.insert(0, _LoopWatch(notes))


def _debug() -> bool:
    return bool(sys.flags.dev_mode or os.environ.get("PYTHONASYNCIODEBUG"))


# ------------------------------------------------------------------------------------------ reading


class Noted:
    """The notes of a command's processes, and the state of the GIL at the moments of a run."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._gil: dict[str, dict[int, bool]] = {}

    def read(self) -> list[dict[str, Any]]:
        """The notes of all processes so far, in order of their ids."""
        found = []
        for name in os.listdir(self._folder):
            if name.endswith(".json"):
                file = os.path.join(self._folder, name)
                with contextlib.suppress(OSError, ValueError), open(file, "rb") as opened:
                    found.append(json.load(opened))
        return sorted(found, key=lambda note: note["pid"])

    def moment(self, name: str) -> None:
        """Note the state of the GIL now, as one of the record's moments."""
        self._gil[name] = {note["pid"]: note["gil"] for note in self.read()}

    def loops(self) -> list[tuple[int, str]]:
        """All loops that were made: when, monotonic ns, and their classes; in order of time."""
        return sorted((at_ns, kind) for note in self.read() for at_ns, kind in note["loops"])

    def process(self) -> dict[str, Any]:
        """The notes of one process, for the record: of the one whose GIL was turned on.

        Without such a one it is one that runs a loop, else any. Counts that only the process itself
        could make are None.
        """
        notes = self.read()
        if not notes:
            return {}
        flipped = [note for note in notes if note["enabled_by"]]
        with_loop = [note for note in notes if note["loops"]]
        note = (flipped or with_loop or notes)[0]
        states = {name: found.get(note["pid"]) for name, found in self._gil.items()}
        started = {"started": note["process"]["gil"]["started"]}
        unknown = dict.fromkeys(("gc_collections", "gc_pause_ns", "cpu_ns", "os_threads"))
        gil = started | states | {"enabled_by": note["enabled_by"]}
        facts: dict[str, Any] = note["process"]
        return facts | unknown | {"gil": gil}
