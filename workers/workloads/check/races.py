"""Makes races likely: threads now and then pause between two lines of the user's own code.

On few cores, threads switch every few milliseconds, and a race of some microseconds would hardly
ever be seen. Objects that are built at the first use are built in lines that run for the first
time: between these, longer pauses let other threads come in.
"""

import atexit
import random
import sys
import time
from types import CodeType
from typing import Any, ClassVar

from workers.workloads.parts.applications import not_the_users

TOOL = 4  # none of those that `sys.monitoring` names for debuggers, coverage and profilers
SHARE = 0.02  # of lines that pause
PAUSE_S = 50e-6
FIRST_SHARE, FIRST_PAUSE_S = 0.8, 0.001  # of lines that run for the first time
FIRST_MOST_S = 0.2  # in all: a large application has thousands of such lines
NOT_THE_USERS = not_the_users()


class _FirstLines:
    """Lines that have run, and how long threads may still pause before others: roughly."""

    left_s: ClassVar[float] = 0.0
    seen: ClassVar[set[tuple[CodeType, int]]] = set()


def interleave() -> None:
    """Pause from now on, in all threads; call it in one thread at a time."""
    monitoring = sys.monitoring
    if monitoring.get_tool(TOOL) is not None:
        return
    monitoring.use_tool_id(TOOL, "scaling app --check")
    atexit.register(run_on)
    # Each place at which an event is disabled stops all threads: libraries have too many lines.
    monitoring.register_callback(TOOL, monitoring.events.PY_START, _start)
    monitoring.register_callback(TOOL, monitoring.events.LINE, _line)
    monitoring.set_events(TOOL, monitoring.events.PY_START)


def run_on() -> None:
    """Pause no more: while the interpreter ends, nothing that the callbacks need is left."""
    sys.monitoring.set_events(TOOL, 0)
    sys.monitoring.free_tool_id(TOOL)


def pause_at_first() -> None:
    """From now on pause also between lines that run for the first time."""
    _FirstLines.left_s = FIRST_MOST_S


def _start(code: CodeType, _offset: int) -> Any:
    if not code.co_filename.startswith(NOT_THE_USERS):
        sys.monitoring.set_local_events(TOOL, code, sys.monitoring.events.LINE)
    return sys.monitoring.DISABLE


def _line(code: CodeType, line: int) -> Any:
    if _FirstLines.left_s > 0 and (code, line) not in _FirstLines.seen:
        _FirstLines.seen.add((code, line))
        if random.random() < FIRST_SHARE:
            started = time.perf_counter()
            time.sleep(FIRST_PAUSE_S)
            _FirstLines.left_s -= time.perf_counter() - started  # longer on a busy machine
    elif random.random() < SHARE:
        time.sleep(PAUSE_S)
