"""Everything about a machine that `scaling doctor` checks, read once and passed to the checks.

The checks themselves read only files below `root`, so that a test can invent a machine.
"""

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from scaling.base.files import text_or_empty
from scaling.builds.cpython import Interpreter
from scaling.builds.interpreters.find import survey
from scaling.journal.record import Disturbance
from scaling.machine.disturbance import MachineTimes, disturbance
from scaling.machine.limits import open_files_limit
from scaling.machine.topology import Topology, read_topology

LEAST_NAMED = 0.01  # of a CPU, for one process: less is a tick or two of the clock
SAMPLE_S = 1.0  # long enough for shares of a CPU in ticks of 10 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSnapshot:
    """A machine at one moment.

    `sample` is what happened during a second in which we did nothing, `busy` the CPUs' worth of
    time that each program used in it, by name. Bytes are None if the system does not report them,
    `open_files` if there is no limit.
    """

    root: Path = Path("/")
    system: str = "Linux"
    topology: Topology
    environment: Mapping[str, str] = field(default_factory=dict)
    sample: Disturbance = field(default_factory=Disturbance)
    busy: Mapping[str, float] = field(default_factory=dict)
    memory_free_bytes: int | None = None
    swap_used_bytes: int | None = None
    open_files: int | None = None
    interpreters: tuple[Interpreter, ...] = ()

    def text(self, path: str) -> str:
        """The text of a file below `root`; empty if it cannot be read."""
        return text_or_empty(self.root / path)

    def texts(self, pattern: str) -> list[str]:
        """The texts of all files below `root` that match the pattern, sorted by name."""
        found = (text_or_empty(path) for path in sorted(self.root.glob(pattern)))
        return [text for text in found if text]


def look(sleep: Callable[[float], None] = time.sleep) -> MachineSnapshot:
    """Read this machine; takes a second, during which busy programs are watched."""
    interpreters = tuple(survey())  # first: it uses CPU time itself
    began, started_s = _cpu_s(), time.monotonic()
    before = MachineTimes.now()  # after going through all programs, which takes time itself
    sleep(SAMPLE_S)
    after = MachineTimes.now()
    took_s, ended = time.monotonic() - started_s, _cpu_s()
    return MachineSnapshot(
        system=platform.system(),
        topology=read_topology(),
        environment=os.environ,
        sample=disturbance(before, after, 0.0),
        busy=busy_programs(began, ended, took_s),
        memory_free_bytes=psutil.virtual_memory().available,
        swap_used_bytes=_swap_used(),
        open_files=open_files_limit(),
        interpreters=interpreters,
    )


type Used = Mapping[tuple[int, str], float]  # process id and name: CPU seconds so far


def busy_programs(before: Used, after: Used, took_s: float) -> dict[str, float]:
    """CPUs' worth of time that each program used between two readings, the busiest first.

    A program started in between used all of its time in between; one that ended is not seen.
    """
    shares: dict[str, float] = {}
    for (pid, name), used_s in after.items():
        gained = used_s - before.get((pid, name), 0.0)
        if gained / took_s >= LEAST_NAMED:
            shares[name] = shares.get(name, 0.0) + gained / took_s
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _cpu_s() -> dict[tuple[int, str], float]:
    used = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        facts = process.info
        if facts["cpu_times"] is not None and facts["pid"] != os.getpid():
            times = facts["cpu_times"]
            used[facts["pid"], facts["name"] or "?"] = times.user + times.system
    return used


def _swap_used() -> int | None:
    try:
        return psutil.swap_memory().used
    except (OSError, RuntimeError):  # a kernel without /proc/vmstat
        return None
