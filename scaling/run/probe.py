"""The phases of a run, and its memory and CPU time, as the driver sees them.

Nothing samples inside the child: it would be starved under the GIL and compete without it. The
child reports its phases over a socket and waits for an answer where an exact reading is taken.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import psutil

from scaling.journal.record import Disturbance, Instants, Memory
from scaling.machine.disturbance import MachineTimes, disturbance
from scaling.run.memory import full_memory
from scaling.run.process_tree import family, runs

# Phases that the driver adds to those of the child: the child has said nothing for `Probe.every_s`;
# the run has its turn again; the run is over, complete or not.
QUIET, IN_TURN, ENDED = "quiet", "in turn", "ended"


@dataclass(frozen=True)
class Phase:
    """A phase of a run, and what the child says of it."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Observer(Protocol):
    """Something that looks at a run while the child waits."""

    def at(self, phase: Phase) -> None:
        """Look at this phase. A `ScalingError` fails the run, and its words are in the record."""


SAMPLE_EVERY_S = 0.25  # a reading takes about 20 µs per process
IN_ROUNDS_S = 0.05  # at the end of a round of finite work what it needed is free again
READ_AT = ("imported", "closed")  # phases; at others the child must not wait for readings
IDLE = "serving"  # the phase of servers that answer and have no load yet


class Probe:
    """Reads memory and CPU time of one run from its imports to the end of its window.

    `processes` are those that belonged to the run when it reported its phases. A reading that fails
    stays blank. Memory is sampled where the child is quiet for `every_s`.
    """

    def __init__(self, other_cpu_s: Callable[[], float] = lambda: 0.0) -> None:
        """`other_cpu_s` returns the CPU seconds so far of what works for the run outside its tree:
        they are no disturbance.
        """
        self._other_cpu_s = other_cpu_s
        self.processes: frozenset[psutil.Process] = frozenset()
        self.every_s = SAMPLE_EVERY_S
        self._samples: list[tuple[int, int]] = []  # when (monotonic ns), and RSS of all processes
        self._baseline_bytes: int | None = None
        self._idle_pss_bytes: int | None = None
        self._full: dict[str, int | None] = {}
        self.times: dict[str, MachineTimes] = {}
        self.cpu_s: dict[str, float] = {}

    def at(self, phase: Phase) -> None:
        """Take the readings that belong to a phase."""
        with contextlib.suppress(Exception):
            self._at(phase.name, phase.facts)
            if phase.facts.get("finite"):
                self.every_s = IN_ROUNDS_S

    def _at(self, name: str, facts: Mapping[str, Any]) -> None:
        # Slices are shorter than the time between samples.
        if name == QUIET or (name == "turn" and self.every_s == SAMPLE_EVERY_S):
            self._sample()
        elif name == IDLE:
            self._idle_pss_bytes = full_memory(with_descendants(facts["pids"]))["pss"]
        elif name in READ_AT:
            self._read(name, with_descendants(facts["pids"]))

    def _read(self, name: str, found: frozenset[psutil.Process]) -> None:
        used_s = cpu_s(found) + self._other_cpu_s()
        # Before memory is read, which takes CPU time.
        self.times[name], self.cpu_s[name] = MachineTimes.now(), used_s
        if name == "imported":
            self.processes = found
            self._baseline_bytes = self._rss()
        else:
            if found != self.processes:  # the samples lack processes started since
                self._samples = []
            self.processes |= found
            self._full = full_memory(found)

    def _sample(self) -> None:
        rss = self._rss()
        if rss is not None:
            self._samples.append((time.monotonic_ns(), rss))

    def _rss(self) -> int | None:
        try:
            return sum(each.memory_info().rss for each in self.processes) or None
        except psutil.Error:
            return None

    def memory(self, window: Instants | None) -> Memory:
        """Bytes: before traffic; RSS, PSS, USS and peak at the window's end; median RSS in it.

        There is no median where no sample was in the window, or the workload has started
        processes since its imports.
        """
        opened_ns, closed_ns = (window.opened, window.closed) if window else (None, None)
        inside = [
            rss_bytes
            for at_ns, rss_bytes in self._samples
            if opened_ns and closed_ns and opened_ns <= at_ns <= closed_ns
        ]
        return Memory(
            baseline_rss_bytes=self._baseline_bytes,
            rss_bytes=self._full.get("rss"),
            pss_bytes=self._full.get("pss"),
            idle_pss_bytes=self._idle_pss_bytes,
            uss_bytes=self._full.get("uss"),
            peak_bytes=self._peak_bytes(),
            window_rss_bytes=round(statistics.median(inside)) if inside else None,
            samples=len(inside),
        )

    def _peak_bytes(self) -> int | None:
        """`VmHWM`, or the largest reading: the kernel's mark may be some pages behind."""
        peak = self._full.get("peak")
        if peak is None:
            return None
        seen = [rss_bytes for _, rss_bytes in self._samples]
        return max(peak, self._baseline_bytes or 0, self._full.get("rss") or 0, *seen)

    def disturbance(self) -> Disturbance:
        """Other work of the machine from the imports to the end of the window."""
        if not {"imported", "closed"} <= set(self.times):
            return Disturbance()
        ours_s = self.cpu_s["closed"] - self.cpu_s["imported"]
        return disturbance(self.times["imported"], self.times["closed"], ours_s)


def with_descendants(pids: list[int]) -> frozenset[psutil.Process]:
    """These processes (the first is the host) and all that they have started."""
    found: set[psutil.Process] = set()
    for pid in pids:
        if all(each.pid != pid for each in found):  # usually all descend from the host
            found.update(family(pid))
    return frozenset(filter(runs, found))


def cpu_s(processes: Iterable[psutil.Process]) -> float:
    """CPU seconds that these processes have used so far; one that is gone counts 0."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total
