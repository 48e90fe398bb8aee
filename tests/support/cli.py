"""Runs `python -m scaling` as a user would, with a state folder that is not the user's own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.children import FREE_THREADED, PATIENCE_S, ROOT

BUILD = f"3.{sys.version_info.minor}{'t' if FREE_THREADED else ''}"
type Command = Callable[..., subprocess.CompletedProcess[str]]  # the fixture `command`


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "SCALING_STATE": str(state), "PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def scaling(*arguments: str, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scaling", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(state),
        cwd=state,
    )
