"""Waits for events, so that no test depends on how long something takes; what drivers have left."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from scaling.run import child
from scaling.run.process_tree import RUN, runs
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


def left_of(driver: int) -> set[int]:
    """What runs of a driver have not ended, stopped or not."""
    found = set()
    for process in psutil.process_iter():
        try:
            mark = process.environ().get(RUN, "")
            if mark.startswith(f"{driver}-") and not is_gone(process.pid):
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


def end(driver: "subprocess.Popen[bytes]") -> None:
    """End a driver, stopped or not, and all that its runs have left."""
    driver.send_signal(signal.SIGCONT)
    driver.kill()
    driver.wait(PATIENCE_S)
    for pid in left_of(driver.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
