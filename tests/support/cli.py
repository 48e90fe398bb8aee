"""Runs `python -m scaling` as a user would, with a state folder that is not the user's own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.children import FREE_THREADED, PATIENCE_S, ROOT

BUILD = f"3.{sys.version_info.minor}{'t' if FREE_THREADED else ''}"
type Command = Callable[..., subprocess.CompletedProcess[str]]  # the fixture `command`


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "SCALING_STATE": str(state), "PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def scaling(
    *arguments: str, state: Path, patience_s: float = PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scaling", *arguments],
        capture_output=True,
        text=True,
        timeout=patience_s,
        env=environment(state),
        cwd=state,
    )


# A shell that starts us in the background has us, and so our children, ignore Ctrl-C.
HEARS_CTRL_C = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "runpy.run_module('scaling', run_name='__main__', alter_sys=True)"
)


def start(*arguments: str, state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(state),
        cwd=state,
    )


def stop_after(words: str, process: subprocess.Popen[str], signal_number: signal.Signals) -> str:
    """Read lines until one has these words, then send a signal; return all that was printed."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if words in line:
            break
    process.send_signal(signal_number)
    rest, _ = process.communicate(timeout=PATIENCE_S)
    return "".join([*said, rest])
