"""The state of the measured interpreter: GIL, allocator, collector, context, threads.

Settings are passed in as environment variables and options. Their effect is read back here, from
the running interpreter, at start, after imports, and at both ends of the window.
"""

import contextvars
import gc
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal

from workers.readback.gil import GilWatch, gil_enabled
from workers.readback.switches import Switches, Value
from workers.system import open_files_limit

# ---------------------------------------------------------------------------------------- allocator
# The object allocator that is really in use, read back from the interpreter itself.

# In the first lines that `sys._debugmallocstats()` prints for each allocator (Objects/obmalloc.c).
MARKERS = {b"Medium block threshold": "mimalloc", b"num pools": "pymalloc"}


def allocator() -> str:
    """Return the name of the object allocator: `mimalloc`, `pymalloc` or `malloc`.

    CPython prints its statistics to the C-level standard error, which is redirected for that
    moment: call it when no other thread writes there.
    """
    # A pipe, since importing `tempfile` would cost every child more than 1 MiB.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # the first lines are enough; what does not fit is dropped
    stderr = os.dup(2)
    os.dup2(writing, 2)
    try:
        sys._debugmallocstats()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(writing)
    head = os.read(reading, 4096)
    os.close(reading)
    return next((name for marker, name in MARKERS.items() if marker in head), "malloc")


# ------------------------------------------------------------------------------------------ process

NEVER_NS = 1 << 63  # on the monotonic clock

_of_thread = threading.local()


def collector_ns() -> int:
    """CPU time of the calling thread inside collections so far: each runs in one thread."""
    return getattr(_of_thread, "collector_ns", 0)


class Collections:
    """Runs of the cyclic garbage collector: how many, and how long they held up their thread."""

    def __init__(self) -> None:
        self._cpu_began_ns = 0
        self.begin(0)

    def begin(self, from_ns: int) -> None:
        """Count anew, only those that start after that time (monotonic ns)."""
        self.count = 0
        self.pause_ns = 0
        self._from_ns = from_ns
        self._began_ns = 0

    def pause(self) -> None:
        """Count none until `resume`."""
        self._from_ns = NEVER_NS

    def resume(self, from_ns: int) -> None:
        """Go on counting, those that start after that time (monotonic ns)."""
        self._from_ns = from_ns

    def install(self) -> None:
        """Register with the collector of this interpreter."""
        gc.callbacks.append(self._on_collection)

    def _on_collection(self, phase: Literal["start", "stop"], _info: dict[str, int]) -> None:
        # An interpreter runs one collection at a time, so one start time is enough.
        now_ns = time.monotonic_ns()
        if phase == "start":
            self._began_ns, self._cpu_began_ns = now_ns, time.thread_time_ns()
            return
        _of_thread.collector_ns = collector_ns() + time.thread_time_ns() - self._cpu_began_ns
        if self._began_ns > self._from_ns:
            self.count += 1
            self.pause_ns += now_ns - self._began_ns


class Readback:
    """One interpreter's state: at start, after imports, and at both ends of the window."""

    def __init__(self, watch_for_gil: GilWatch) -> None:
        self._gil_watch = watch_for_gil
        self._collections = Collections()
        self._switches = Switches({})
        self._is_set = False
        self._gil: dict[str, bool] = {"started": gil_enabled()}
        self._opened_cpu_ns = self._cpu_ns = 0
        self._collected: dict[str, Any] = {"gc_collections": 0, "gc_pause_ns": 0}
        self._os_threads: int | None = None

    def imported(
        self, *, collect: bool, switches: Mapping[str, Value], threshold: int | None = None
    ) -> None:
        """Note the state after imports; set the collector and the switches as the arm says.

        `threshold` is the collector's first one, in objects; None leaves it as it is. A forked
        worker, which has all that from its host, only notes its own state.

        Raises:
            ImportError: a switch names a module that cannot be imported.
        """
        self._gil["imported"] = gil_enabled()
        if self._is_set:
            return
        self._is_set = True
        self._collections.install()
        if not collect:
            gc.disable()
        if threshold is not None:
            gc.set_threshold(threshold)
        self._switches = Switches(switches)

    def opened(self, from_ns: int = 0) -> None:
        """Note the state as the window or its next slice opens, at `from_ns` if that is to come.

        Collections count from then on (monotonic ns).
        """
        if "opened" in self._gil:
            self._collections.resume(from_ns)
        else:
            self._gil["opened"] = gil_enabled()
            self._switches.ready()
            self._collections.begin(from_ns)
        self._opened_cpu_ns = time.process_time_ns()

    def collections_from(self, from_ns: int) -> None:
        """Count collections from a later time on: the window opens only then (monotonic ns)."""
        self._collections.begin(from_ns)

    def closed(self) -> None:
        """Note the state as the window or a slice of it closes; amounts are those of all slices."""
        self._gil["closed"] = gil_enabled()
        self._cpu_ns += time.process_time_ns() - self._opened_cpu_ns
        found = self._collections
        found.pause()
        self._collected = {"gc_collections": found.count, "gc_pause_ns": found.pause_ns}
        self._os_threads = os_threads()

    def result(self, *, debug: bool, whole_process: bool = True) -> dict[str, Any]:
        """Return everything noted, for the record; `debug` is whether the loop was in debug mode.

        For a sub-interpreter, which is not the `whole_process`, what belongs to the process is
        None: reading the allocator redirects standard error, which two must not do at once.
        """
        return {
            "version": sys.version.split(maxsplit=1)[0],
            "free_threaded": "free-threading" in sys.version,  # `sysconfig` would cost memory
            "gil": self._gil | {"enabled_by": self._gil_watch.enabled_by},
            "allocator": allocator() if whole_process else None,
            "gc_enabled": gc.isenabled(),
            "gc_frozen": gc.get_freeze_count() > 0,
            "gc_threshold": gc.get_threshold()[0],
            **self._collected,
            "switches": self._switches.read_back(),
            "hash_seed": _hash_seed(),
            "cpu_ns": self._cpu_ns,
            "context_items": len(contextvars.copy_context()),
            "thread_inherit_context": getattr(sys.flags, "thread_inherit_context", None),
            "context_aware_warnings": getattr(sys.flags, "context_aware_warnings", None),
            "os_threads": self._os_threads if whole_process else None,
            "open_files_limit": open_files_limit() if whole_process else None,
            "debug": debug,
        }


def _hash_seed() -> str:
    """The seed of the hashes of strings: a number, or `random` where none took effect."""
    if not sys.flags.hash_randomization:
        return "0"
    asked = None if sys.flags.ignore_environment else os.environ.get("PYTHONHASHSEED")
    return asked or "random"


def os_threads() -> int | None:
    """The number of threads of this process, those of libraries included; None if unknown."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # not Linux: blank
        return None
