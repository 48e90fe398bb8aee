"""Drivers that a test has started: what their runs have left, and their end."""

import contextlib
import os
import signal
import subprocess

import psutil

from scaling.run.process_tree import RUN
from tests.support.children import PATIENCE_S
from tests.support.waiting import is_gone


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
