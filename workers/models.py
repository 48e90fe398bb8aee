"""What a worker is: a thread, a process, or a sub-interpreter. All that differs is in here."""

import sys
import threading
from typing import Protocol

from workers.life import work


class Crew(Protocol):
    """Starts the workers, each at its end of a line, and waits for them to be gone."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one worker for each descriptor; return the processes that are the workers'."""

    def join(self) -> None:
        """Wait until all workers are gone."""


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

    def join(self) -> None:
        """Wait for the threads."""
        for thread in self._threads:
            thread.join()


class Processes:
    """Every worker is a fresh interpreter of its own (never forked: nothing is inherited)."""

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one process a worker; settings arrive by environment variables."""
        import os
        import subprocess

        self._processes = []
        for descriptor in descriptors:
            command = [sys.executable, "-m", "workers", "--worker", str(descriptor)]
            self._processes.append(subprocess.Popen(command, pass_fds=(descriptor,)))
            os.close(descriptor)
        return [process.pid for process in self._processes]

    def join(self) -> None:
        """Wait for the processes."""
        for process in self._processes:
            process.wait()


class Interpreters:
    """Every worker is a sub-interpreter with its own GIL, in a thread of this process."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, descriptors: list[int]) -> list[int]:
        """Start one sub-interpreter a worker (CPython 3.14 or newer)."""
        from concurrent import interpreters

        for k, descriptor in enumerate(descriptors):
            code = (
                f"import sys; sys.path[:] = {sys.path!r}\n"
                f"from workers.life import work; work({descriptor})"
            )
            interpreter = interpreters.create()
            thread = threading.Thread(
                target=_run_and_close, args=(interpreter, code), name=f"worker-{k}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return []

    def join(self) -> None:
        """Wait for the sub-interpreters' threads."""
        for thread in self._threads:
            thread.join()


def _run_and_close(interpreter: "interpreters.Interpreter", code: str) -> None:
    try:
        interpreter.exec(code)
    finally:
        interpreter.close()


MODELS: dict[str, type[Crew]] = {
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
