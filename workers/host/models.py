"""What a worker is: a thread, a process, or a sub-interpreter. All that differs is in here."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

from workers.worker.session import work

if TYPE_CHECKING:  # imported where they are needed: both cost a child memory
    import subprocess
    from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

LAST_WORDS_S = 0.5  # for stacks to be written before a process is ended


class WorkerPool(Protocol):
    """Starts the workers, each at its end of a line, and waits for them to be gone."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one worker for each descriptor; return the processes that are the workers'."""

    def join(self, limit_s: float) -> None:
        """Wait until all workers are gone, `limit_s` at most; processes that stay are ended."""

    def end(self, *, stacks: bool) -> None:
        """Give up on workers of a run that failed; `stacks`: show first where each one is.

        Threads are left to the end of this process, which is near.
        """


class Threads:
    """Every worker is a thread of this process."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one thread a worker."""
        # Daemons: a worker that hangs must not keep the host from reporting it.
        self._threads = [
            threading.Thread(target=work, args=(each,), name=f"worker-{k}", daemon=True)
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
        """Show where the threads are, if asked to."""
        if stacks:
            faulthandler.dump_traceback(all_threads=True)


class Processes:
    """Every worker is a fresh interpreter of its own (never forked: nothing is inherited)."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one process a worker; settings arrive by environment variables."""
        import subprocess

        for descriptor in descriptors:
            command = [sys.executable, "-m", "workers", "--worker", str(descriptor)]
            self._processes.append(subprocess.Popen(command, pass_fds=(descriptor,)))
            os.close(descriptor)
        return [process.pid for process in self._processes]

    def join(self, limit_s: float) -> None:
        """Wait for the processes, and end those that stay."""
        import subprocess

        deadline = time.monotonic() + limit_s
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def end(self, *, stacks: bool) -> None:
        """End the processes; at SIGUSR1 each shows its stacks, one after the other."""
        for process in self._processes:
            if stacks:
                process.send_signal(signal.SIGUSR1)
                time.sleep(LAST_WORDS_S / len(self._processes))
            process.kill()
            process.wait()


class Interpreters(Threads):
    """Every worker is a sub-interpreter with its own GIL, in a thread of this process."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one sub-interpreter a worker (CPython 3.14 or newer)."""
        from concurrent import interpreters  # type: ignore[attr-defined]  # 3.14

        for k, descriptor in enumerate(descriptors):
            code = (
                f"import sys; sys.path[:] = {sys.path!r}\n"
                f"from workers.worker.session import work; work({descriptor})"
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
    """Say why this interpreter cannot have workers of that model; None where it can."""
    if model not in MODELS:
        return f"unknown model {model!r}; there are: {', '.join(MODELS)}"
    if model == "interpreters" and sys.version_info < (3, 14):
        return "concurrent.interpreters came with CPython 3.14"
    if model == "processes" and sys.platform == "win32":
        return "lines cannot be handed to a process on Windows yet"
    return None
