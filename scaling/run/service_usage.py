"""What the services of a workload used while one run was measured."""

import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scaling.journal.record import ServiceUse
from scaling.run.child import Front
from scaling.run.redaction import without_own_paths
from scaling.run.service_process import ServiceProcess, Usage, open_connections

ENOUGH = 4  # readings: before, two inside the run, after
GONE_S = 1.0  # for the thread that reads to end
GONE = Usage(gone=True)


class ServiceUsage:
    """The services of one run: where they are, and what they used while it ran.

    `front` starts the one that is in front of the run's servers, if there is to be one.
    """

    def __init__(self, services: Mapping[str, ServiceProcess], *, in_slices: bool = False) -> None:
        self._slices = _Slices() if in_slices else None
        self.urls = {name: list(service.urls) for name, service in services.items()}
        self.front: Front | None = None
        self._services = dict(services)
        self._readings: list[tuple[float, dict[str, Usage]]] = []
        self._opened: dict[str, Usage] = {}
        # Read at the end of the window, when all connections are still open.
        self._at_end: dict[str, ServiceUse] = {}
        # Of the window, or of each slice; None: it is over.
        self._instants_ns: queue.SimpleQueue[Sequence[int] | None] = queue.SimpleQueue()
        self._reading: threading.Thread | None = None

    def add(self, name: str, service: ServiceProcess) -> None:
        """From now on read this one, too: it was started for this run alone."""
        self._services[name] = service

    def read(self) -> None:
        """Take a reading of all services."""
        self._readings.append((time.monotonic(), self._usages()))

    def watch(self, phase: str, facts: Mapping[str, Any]) -> None:
        """Read at a phase of the child what belongs to its window alone."""
        if phase == "imported" and (self._services or self.front):  # every host says so
            # Not when the window is about to open: without the GIL, starting a thread takes a
            # second where many programs wait for a CPU.
            read = self._read_slices if self._slices else self._open
            self._reading = threading.Thread(target=read, name="services", daemon=True)
            self._reading.start()
        elif phase == "resume" and self._slices:
            self._slices.pids = {name: each.pids() for name, each in self._services.items()}
        elif phase == "load":
            self._instants_ns.put(facts["instants_ns"])
        elif phase == "closed":
            opened = open_connections() if self._services else None
            self._at_end = {
                name: ServiceUse(
                    memory_bytes=each.memory_bytes(),
                    connections=None if opened is None else each.connections(opened),
                )
                for name, each in self._services.items()
            }

    def close(self) -> None:
        """The run is over, complete or not."""
        self._instants_ns.put(None)
        if self._reading:
            self._reading.join(GONE_S)

    def end(self) -> None:
        """End its services: the next run that needs them has others."""
        for each in self._services.values():
            each.close()

    def cpu_s(self) -> float:
        """CPU seconds that the services have used so far; takes a reading."""
        self.read()
        return sum(usage.whole_s for usage in self._readings[-1][1].values())

    def use(self) -> dict[str, ServiceUse]:
        """What each service used.

        CPU time is that of the whole run and of all processes; of a workload that is not finite
        also that of the window alone. The busy fraction is the share of a
        core that the busiest process used: a mean would hide a process that workers wait for
        behind others that idle. It covers the time between the readings that the run itself asked
        for (after its imports, at the window's end), since there is no traffic before and after. In
        turn with others it covers the slices, as the CPU time of the window does.
        """
        used = {}
        within = self._readings[1:-1] if len(self._readings) >= ENOUGH else self._readings
        for name, service in self._services.items():
            (began_s, before), (ended_s, after) = within[0], within[-1]
            inside = _busiest_s(before.get(name), after.get(name, GONE))
            last = self._readings[-1][1][name]
            busy, window_s = None, None
            if self._slices:
                busy, window_s = self._slices.busy_fraction(name), self._slices.cpu_s(name)
            else:
                if inside is not None and ended_s > began_s:
                    busy = inside / (ended_s - began_s)
                if name in self._opened:
                    window_s = _between_s(self._opened[name], after.get(name, GONE))
            used[name] = msgspec.structs.replace(
                self._at_end.get(name, ServiceUse()),
                rss_bytes=last.rss_bytes,
                cpu_s=_between_s(self._readings[0][1].get(name), last),
                busy_fraction=busy,
                window_cpu_s=window_s,
                ended=without_own_paths(service.last_words()) if last.gone else "",
                facts=service.facts,
            )
        return used

    def _usages(self) -> dict[str, Usage]:
        return {name: service.usage() for name, service in self._services.items()}

    def _open(self) -> None:
        """Take a reading when the window opens, unless the run is over before that."""
        instants_ns = self._instants_ns.get()
        if instants_ns is None:
            return
        try:
            self._instants_ns.get(timeout=max(0.0, (instants_ns[0] - time.monotonic_ns()) / 1e9))
        except queue.Empty:
            self._opened = self._usages()

    def _read_slices(self) -> None:
        """Read their CPU time at both ends of each slice."""
        while (instants_ns := self._instants_ns.get()) is not None:
            if self._slices:
                self._slices.add(instants_ns[0], instants_ns[-1])


class _Slices:
    """What services used in the slices of a run; they have no load in between (Linux).

    A slice is too short to look for processes at its ends, so `pids` are those before it.
    """

    def __init__(self) -> None:
        self.pids: Mapping[str, Sequence[int]] = {}
        self._used_ns: Counter[tuple[str, int]] = Counter()
        self._took_ns = 0

    def add(self, opens_ns: int, closes_ns: int) -> None:
        """Wait for both ends of a slice (monotonic), and read."""
        began_ns, before = self._read(opens_ns)
        ended_ns, after = self._read(closes_ns)
        self._took_ns += ended_ns - began_ns
        for each, used_ns in after.items():
            self._used_ns[each] += used_ns - before.get(each, used_ns)

    def _read(self, at_ns: int) -> tuple[int, dict[tuple[str, int], int]]:
        time.sleep(max(0.0, (at_ns - time.monotonic_ns()) / 1e9))
        found = {}
        for name, pids in self.pids.items():
            for pid in pids:
                with contextlib.suppress(OSError):  # it has ended
                    # The kernel's number of a process's CPU clock (clock_getcpuclockid).
                    found[name, pid] = time.clock_gettime_ns((~pid << 3) | 2)
        return time.monotonic_ns(), found

    def cpu_s(self, name: str) -> float | None:
        """CPU seconds of a service; None without a slice, or where nothing is known of it."""
        used_ns = [used for (each, _), used in self._used_ns.items() if each == name]
        return sum(used_ns) / 1e9 if used_ns else None

    def busy_fraction(self, name: str) -> float | None:
        """The share of a core that the busiest of its processes used."""
        used_ns = [used for (each, _), used in self._used_ns.items() if each == name]
        return max(used_ns) / self._took_ns if used_ns and self._took_ns else None


def _between_s(before: Usage | None, after: Usage) -> float | None:
    """CPU seconds between two readings; None if the service was gone at either.

    A service (None) or process that was started in between has used all of its time in between.
    """
    if not after.cpu_s or (before and before.gone):
        return None
    return after.whole_s - (before.whole_s if before else 0.0)


def _busiest_s(before: Usage | None, after: Usage) -> float | None:
    """CPU seconds between two readings of the process that used most."""
    if before and before.gone:
        return None
    earlier = before.cpu_s if before else {}
    return max(
        (used_s - earlier.get(pid, 0.0) for pid, used_s in after.cpu_s.items()), default=None
    )
