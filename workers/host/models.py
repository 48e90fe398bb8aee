"""What a worker is: a thread, a process or a sub-interpreter. All differences are in this file."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

from workers.worker.session import run_worker

if TYPE_CHECKING:  # imported where they are used: both cost a child memory
    import subprocess
    from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

STACKS_S = 0.5  # for processes to write their stacks before they are killed


class WorkerPool(Protocol):
    """Starts N workers, each with its end of a channel, and waits for them to end."""

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

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one thread per worker."""
        # Daemons: a worker that hangs must not keep the host from reporting it.
        self._threads = [
            threading.Thread(target=run_worker, args=(each,), name=f"worker-{k}", daemon=True)
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
    """Every worker is a fresh interpreter in its own process (not forked: it inherits nothing)."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one process per worker; the arm's settings reach it by environment variables."""
        import subprocess

        for descriptor in descriptors:
            command = [sys.executable, "-m", "workers", "--worker", str(descriptor)]
            self._processes.append(subprocess.Popen(command, pass_fds=(descriptor,)))
            os.close(descriptor)
        return [process.pid for process in self._processes]

    def join(self, limit_s: float) -> None:
        """Wait for the processes; kill those that do not end in time."""
        import subprocess

        deadline = time.monotonic() + limit_s
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def end(self, *, stacks: bool) -> None:
        """Kill the processes; with `stacks`, each prints its own first (SIGUSR1), in turn."""
        for process in self._processes:
            if stacks:
                process.send_signal(signal.SIGUSR1)
                time.sleep(STACKS_S / len(self._processes))
            process.kill()
            process.wait()


class Interpreters(Threads):
    """Every worker is a sub-interpreter with its own GIL, in a thread of this process."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one sub-interpreter per worker (CPython 3.14 or newer)."""
        from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

        for k, descriptor in enumerate(descriptors):
            code = (
                f"import sys; sys.path[:] = {sys.path!r}\n"
                f"from workers.worker.session import run_worker; run_worker({descriptor})"
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
    "interpreters": Interpreters,
}


def refusal(model: str) -> str | None:
    """Why this interpreter cannot run workers of that model; None if it can."""
    if model not in MODELS:
        return f"unknown model {model!r}; known: {', '.join(MODELS)}"
    if model == "interpreters" and sys.version_info < (3, 14):
        return "sub-interpreters need CPython 3.14 or newer (concurrent.interpreters)"
    if model == "processes" and sys.platform == "win32":
        return "not supported on Windows: a worker process must inherit a socket"
    return None
