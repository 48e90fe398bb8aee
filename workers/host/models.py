"""Models: a worker is a thread, a process, one of K threads of a process, or a sub-interpreter.

All differences are in this file; which models share what is in `workers.cell`.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from itertools import batched
from typing import TYPE_CHECKING, NoReturn, Protocol

from workers.cell import Cell
from workers.readback.process import Readback, os_threads
from workers.worker.session import load, run_workers

if TYPE_CHECKING:  # imported where they are used: both cost a child memory
    import subprocess
    from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

STACKS_S = 0.5  # for processes to write their stacks before they are killed
POLL_S = 0.005  # between looks at whether a process has ended
OPEN_FILES = "/proc/self/fd"
STANDARD = 3  # standard streams: what every process has
FORKS_ON_LINUX = (
    "forked workers need Linux: Windows cannot fork, and on macOS system libraries run threads "
    "that a forked process would lack"
)


class WorkerPool(Protocol):
    """Starts N workers, each with its end of a channel, and waits for them to end."""

    def prepare(self, cell: Cell, readback: Readback) -> None:
        """Prepare the host, before there are workers; `readback` has the host's own state.

        Raises:
            Exception: whatever the imports of the workload raise.
        """

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one worker per descriptor; return the ids of the processes started."""

    def join(self, limit_s: float) -> None:
        """Wait at most `limit_s` for all workers to end; processes that have not are killed."""

    def end(self, *, stacks: bool) -> None:
        """Abandon the workers of a failed run; with `stacks`, print first where each one is.

        Threads end with this process, which exits soon after.
        """


class Threads:
    """Every worker is a thread of this process."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def prepare(self, cell: Cell, readback: Readback) -> None:
        """Import once, before N threads would do it together."""
        del readback
        load(cell)

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one thread per worker."""
        # Daemons: a worker that hangs must not keep the host from reporting it.
        self._threads = [
            threading.Thread(target=run_workers, args=([each],), name=f"worker-{k}", daemon=True)
            for k, each in enumerate(descriptors)
        ]
        for thread in self._threads:
            thread.start()
        return []

    def join(self, limit_s: float) -> None:
        """Wait for the threads."""
        deadline = time.monotonic() + limit_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def end(self, *, stacks: bool) -> None:
        """Print the threads' stacks, if wanted."""
        if stacks:
            faulthandler.dump_traceback(all_threads=True)


class Processes:
    """Every worker is a fresh interpreter in its own process (not forked: it inherits nothing).

    Of a mixed model a process has several workers, each in a thread.
    """

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes] | _Child] = []
        self._each = 1

    def prepare(self, cell: Cell, readback: Readback) -> None:
        """Import nothing: each process does that for itself."""
        self._each = cell.loops_each

    def start(self, descriptors: list[int]) -> list[int]:
        """Start the processes; the arm's settings reach them by environment variables."""
        import subprocess  # costs a child memory

        for own in batched(descriptors, self._each):
            command = [sys.executable, "-m", "workers", "--worker", *map(str, own)]
            self._processes.append(subprocess.Popen(command, pass_fds=own))
            for descriptor in own:
                os.close(descriptor)
        return [process.pid for process in self._processes]

    def join(self, limit_s: float) -> None:
        """Wait for the processes; kill those that do not end in time."""
        deadline = time.monotonic() + limit_s
        for process in self._processes:
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(POLL_S)
            _kill(process)

    def end(self, *, stacks: bool) -> None:
        """Kill the processes; with `stacks`, each prints its own first (SIGUSR1), in turn."""
        for process in self._processes:
            if stacks:
                process.send_signal(signal.SIGUSR1)
                time.sleep(STACKS_S / len(self._processes))
            _kill(process)


def _kill(process: subprocess.Popen[bytes] | _Child) -> None:
    process.send_signal(signal.SIGKILL)
    while process.poll() is None:
        time.sleep(POLL_S)


class Forked(Processes):
    """Every worker is a process forked from this one after all imports, as pre-fork servers do.

    Workers share the imported pages with this process and each other until one writes to them.
    """

    def prepare(self, cell: Cell, readback: Readback) -> None:
        """Import once, for all workers; each process goes on with a copy of the `readback`."""
        super().prepare(cell, readback)
        self._readback = readback
        before = _open_files()
        load(cell)
        self._of_imports = _open_files() - before

    def start(self, descriptors: list[int]) -> list[int]:
        """Fork the processes.

        Raises:
            RuntimeError: imports have started threads, which a forked process would not have.
        """
        if threads := (os_threads() or 1) - 1:
            raise RuntimeError(too_many_threads(threads))
        gc.freeze()  # so that no worker's collector writes to the pages that all share
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is left in a buffer would be written by each worker
        for own in batched(descriptors, self._each):
            pid = os.fork()
            if not pid:
                self._run(own)
            self._processes.append(_Child(pid))
        for descriptor in descriptors:
            os.close(descriptor)
        return [process.pid for process in self._processes]

    def _run(self, own: tuple[int, ...]) -> NoReturn:
        """Run these workers; never return to the host's code, of which this process has a copy."""
        try:
            # Ends of other workers' channels would keep those open when this host is gone.
            for other in _open_files() - self._of_imports - {*own}:
                os.close(other)
            run_workers(own, self._readback)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        finally:
            os._exit(0)


class _Child:
    """A forked process: what pools need of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)


def _open_files() -> set[int]:
    """The open files of this process that are no standard streams, and not the listing's own."""
    listed = [name for name in os.listdir(OPEN_FILES) if os.path.lexists(f"{OPEN_FILES}/{name}")]
    return {int(name) for name in listed if int(name) >= STANDARD}


def too_many_threads(count: int) -> str:
    """The reason against forking a process with that many threads besides its first."""
    return (
        f"imports start threads ({count}), which a forked process would not have: "
        "use fresh processes, or start them in `setup`"
    )


class Interpreters(Threads):
    """Every worker is a sub-interpreter with its own GIL, in a thread of this process."""

    def prepare(self, cell: Cell, readback: Readback) -> None:
        """Do nothing: each worker imports for itself."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one sub-interpreter per worker (CPython 3.14 or newer)."""
        from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

        for k, descriptor in enumerate(descriptors):
            code = (
                f"import sys; sys.path[:] = {sys.path!r}\n"
                f"from workers.worker.session import run_workers; run_workers([{descriptor}])"
            )
            interpreter = interpreters.create()
            thread = threading.Thread(
                target=_run_and_close, args=(interpreter, code), name=f"worker-{k}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return []


def _run_and_close(interpreter: interpreters.Interpreter, code: str) -> None:
    try:
        interpreter.exec(code)
    finally:
        interpreter.close()


MODELS: dict[str, type[WorkerPool]] = {
    "threads": Threads,
    "processes": Processes,
    "forked": Forked,
    "interpreters": Interpreters,
    "mixed": Processes,
    "mixed-forked": Forked,
}
FORKING = [name for name, pool in MODELS.items() if issubclass(pool, Forked)]


def refusal(model: str) -> str | None:
    """The reason that this interpreter cannot run a model (without its number); None if it can."""
    if model not in MODELS:
        return f"unknown model {model!r}; known: {', '.join(MODELS)}"
    if model == "interpreters" and sys.version_info < (3, 14):
        return "sub-interpreters need CPython 3.14 or newer (concurrent.interpreters)"
    if model in ("processes", "mixed") and sys.platform == "win32":
        return "not supported on Windows: a worker process must inherit a socket"
    if model in FORKING and not sys.platform.startswith("linux"):
        return FORKS_ON_LINUX
    return None
