"""A long command whose output goes to a log file, line by line, while it runs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path


def follow(command: Sequence[str], *, folder: Path, log: Path, on_line: Callable[[], None]) -> int:
    """Run `command` in `folder` to its end and return its exit code.

    Its output is appended to `log`; `on_line` is called once per line. If we are interrupted,
    everything that the command started is ended before the exception goes on. (If we are killed, it
    ends by itself, since nobody reads its output.)
    """
    # Settings for another Python or another make must not reach this build.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in ("MAKEFLAGS", "MAKELEVEL", "DESTDIR")
    }
    with (
        log.open("a", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                on_line()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    return process.returncode


def last_lines(log: Path, count: int = 15) -> str:
    """The end of `log`, indented, for a message."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-count:])
