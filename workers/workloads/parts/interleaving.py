"""Makes races likely: threads now and then pause between two lines of the user's own code.

On few cores, threads switch every few milliseconds, and a race of some microseconds would hardly
ever be seen.
"""

import random
import sys
import sysconfig
import time
from types import CodeType
from typing import Any

TOOL = 4  # none of those that `sys.monitoring` names for debuggers, coverage and profilers
SHARE = 0.02  # of lines that pause
PAUSE_S = 50e-6
NOT_THE_USERS = (
    "<",
    *(sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")),
    f"{__file__.rpartition('/workloads/')[0]}/",
)


def interleave() -> None:
    """Pause from now on, in all threads; call it in one thread at a time."""
    monitoring = sys.monitoring
    if monitoring.get_tool(TOOL) is not None:
        return
    monitoring.use_tool_id(TOOL, "scaling app --check")
    monitoring.register_callback(TOOL, monitoring.events.LINE, _line)
    monitoring.set_events(TOOL, monitoring.events.LINE)


def _line(code: CodeType, line: int) -> Any:
    del line
    if code.co_filename.startswith(NOT_THE_USERS):
        return sys.monitoring.DISABLE
    if random.random() < SHARE:
        time.sleep(PAUSE_S)
    return None
