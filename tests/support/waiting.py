"""Waits for events, so that no test depends on how long something takes."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from scaling.run import child
from scaling.run.process_tree import runs
from scaling.run.waiting import ended
from tests.support.children import PATIENCE_S


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be reaped has."""
    try:
        return not runs(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def says(file: Path, lines: int = 1) -> bool:
    """Whether a file has so many complete lines."""
    return file.exists() and file.read_text().count("\n") >= lines


def limit_from(monkeypatch: pytest.MonkeyPatch, is_so: Callable[[], bool]) -> None:
    """Start the time limit of a run only when `is_so`: it may take seconds to start."""

    async def wait(process: subprocess.Popen[bytes], limit_s: float) -> bool:
        while not is_so() and process.poll() is None:  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.02)
        return await ended(process, limit_s)

    monkeypatch.setattr(child, "ended", wait)
