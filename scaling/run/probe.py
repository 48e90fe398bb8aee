"""Memory and CPU time of a run's processes, read from outside while it runs.

Nothing samples inside the child: it would be starved under the GIL and compete without it. The
child reports its phases over a socket and waits for an answer where an exact reading is taken.
"""

import contextlib
import json
import select
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psutil

from scaling.base.errors import ScalingError
from scaling.journal.record import Memory
from scaling.machine.disturbance import MachineTimes
from scaling.run.own_memory import full_memory
from scaling.run.process_tree import runs

type OnPhase = Callable[[str, dict[str, Any]], dict[str, Any]]

SAMPLE_EVERY_S = 0.25  # a reading takes about 20 µs per process
READ_AT = ("imported", "closed")  # phases; at others the child must not wait for readings
IDLE = "serving"  # the phase of servers that answer and have no load yet


@dataclass
class Sample:
    """RSS of all processes of a run at an instant (monotonic ns)."""

    at_ns: int
    rss_bytes: int


class Probe:
    """Watches one run from its imports to the end of its window.

    `processes` are those that belonged to the run when it reported its phases.
    """

    def __init__(
        self,
        observed: socket.socket,
        services_cpu_s: Callable[[], float] = lambda: 0.0,
        on_phase: OnPhase | None = None,
    ) -> None:
        """Listen at `observed`; `services_cpu_s` returns the CPU seconds of the services so far.

        `on_phase` is called with each phase, after the readings that belong to it, before the child
        goes on, and returns what to reply. A `ScalingError` that it raises is reported to the
        child, whose run then fails.
        """
        self._socket = observed
        self._services_cpu_s = services_cpu_s
        self._on_phase = on_phase
        self.processes: frozenset[psutil.Process] = frozenset()
        self._samples: list[Sample] = []
        self._baseline_bytes: int | None = None
        self._idle_pss_bytes: int | None = None
        self._full: dict[str, int | None] = {}
        self.times: dict[str, MachineTimes] = {}
        self.cpu_s: dict[str, float] = {}
        self._thread = threading.Thread(target=self._watch, name="probe", daemon=True)

    def start(self) -> None:
        """Watch in a thread of the driver until the child closes its end."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the last reading. The child is gone; what it started may not be."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # another process may hold the other end open
        self._thread.join()
        self._socket.close()

    def memory(self, opened_ns: int | None, closed_ns: int | None) -> Memory:
        """Bytes: before traffic; RSS, PSS, USS and peak at the window's end; median RSS in it.

        There is no median where no sample was in the window, or the workload has started
        processes since its imports.
        """
        inside = [
            sample.rss_bytes
            for sample in self._samples
            if opened_ns and closed_ns and opened_ns <= sample.at_ns <= closed_ns
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
        seen = [each.rss_bytes for each in self._samples]
        return max(peak, self._baseline_bytes or 0, self._full.get("rss") or 0, *seen)

    def _watch(self) -> None:
        received = b""
        while True:
            readable, _, _ = select.select([self._socket], [], [], SAMPLE_EVERY_S)
            if not readable:
                self._sample()
                continue
            try:
                chunk = self._socket.recv(4096)
            except ConnectionError:
                return
            if not chunk:
                return
            received += chunk
            while b"\n" in received:
                text, _, received = received.partition(b"\n")
                answer = self._answer(text)
                with contextlib.suppress(OSError):  # it is gone; the next `recv` reports that
                    self._socket.sendall(json.dumps(answer).encode() + b"\n")

    def _answer(self, text: bytes) -> dict[str, Any]:
        """Do what belongs to a phase. The child waits, so this never raises."""
        try:
            message = json.loads(text)
            with contextlib.suppress(Exception):  # a failed reading stays blank
                self._phase(message["phase"], message["pids"])
            if self._on_phase:
                return self._on_phase(message["phase"], message)
        except (ScalingError, OSError) as error:
            return {"failed": str(error)}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"}
        return {}

    def _phase(self, phase: str, pids: list[int]) -> None:
        if phase == "turn":  # slices are shorter than the time between samples
            self._sample()
        if phase == IDLE:
            self._idle_pss_bytes = full_memory(with_descendants(pids))["pss"]
        if phase not in READ_AT:
            return
        family = with_descendants(pids)
        used_s = cpu_s(family) + self._services_cpu_s()
        # Before memory is read, which takes CPU time.
        self.times[phase], self.cpu_s[phase] = MachineTimes.now(), used_s
        if phase == "imported":
            self.processes = family
            self._baseline_bytes = self._rss()
        else:
            if family != self.processes:  # the samples lack processes started since
                self._samples = []
            self.processes |= family
            self._full = full_memory(family)

    def _sample(self) -> None:
        rss = self._rss()
        if rss is not None:
            self._samples.append(Sample(time.monotonic_ns(), rss))

    def _rss(self) -> int | None:
        try:
            return sum(each.memory_info().rss for each in self.processes) or None
        except psutil.Error:
            return None


def with_descendants(pids: list[int]) -> frozenset[psutil.Process]:
    """These processes (the first is the host) and all that they have started."""
    family: set[psutil.Process] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # gone already
            process = psutil.Process(pid)
            if process not in family:  # usually all descend from the host
                family |= {process, *process.children(recursive=True)}
    return frozenset(process for process in family if runs(process))


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
