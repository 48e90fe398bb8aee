"""What the services of a workload used while one run was measured."""

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaling.journal.record import ServiceUse
from scaling.run.child import Front
from scaling.run.path_redaction import without_own_paths
from scaling.run.service_process import ServiceProcess, Usage, open_connections

ENOUGH = 4  # readings: before, two inside the run, after
GONE = Usage(gone=True)


@dataclass(frozen=True)
class AtEnd:
    """What is read of a service at the end of the window, when all connections are still open."""

    memory_bytes: int | None
    connections: int | None


class ServiceUsage:
    """The services of one run: where they are, and what they used while it ran.

    `front` starts the one that is in front of the run's servers, if there is to be one.
    """

    def __init__(self, services: Mapping[str, ServiceProcess]) -> None:
        self.urls = {name: list(service.urls) for name, service in services.items()}
        self.front: Front | None = None
        self._services = dict(services)
        self._readings: list[tuple[float, dict[str, Usage]]] = []
        self._opened: dict[str, Usage] = {}
        self._at_end: dict[str, AtEnd] = {}
        self._opens_ns: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # None: it is over

    def add(self, name: str, service: ServiceProcess) -> None:
        """From now on read this one, too: it was started for this run alone."""
        self._services[name] = service

    def read(self) -> None:
        """Take a reading of all services."""
        self._readings.append((time.monotonic(), self._usages()))

    def watch(self, phase: str, facts: Mapping[str, Any]) -> None:
        """Read at a phase of the child what belongs to its window alone."""
        if phase == "serving":
            # Not when the window is about to open: without the GIL, starting a thread takes a
            # second where many programs wait for a CPU.
            threading.Thread(target=self._open, name="services", daemon=True).start()
        elif phase == "load":
            self._opens_ns.put(facts["instants_ns"][0])
        elif phase == "closed":
            opened = open_connections() if self._services else None
            self._at_end = {
                name: AtEnd(
                    each.memory_bytes(), None if opened is None else each.connections(opened)
                )
                for name, each in self._services.items()
            }

    def close(self) -> None:
        """The run is over, complete or not."""
        self._opens_ns.put(None)

    def cpu_s(self) -> float:
        """CPU seconds that the services have used so far; takes a reading."""
        self.read()
        return sum(usage.whole_s for usage in self._readings[-1][1].values())

    def use(self) -> dict[str, ServiceUse]:
        """What each service used.

        CPU time is that of the whole run and of all processes; of a served workload also that of
        the window alone. The busy fraction is the share of a
        core that the busiest process used: a mean would hide a process that workers wait for
        behind others that idle. It covers the time between the readings that the run itself asked
        for (after its imports, at the window's end), since there is no traffic before and after.
        """
        used = {}
        within = self._readings[1:-1] if len(self._readings) >= ENOUGH else self._readings
        for name, service in self._services.items():
            (began_s, before), (ended_s, after) = within[0], within[-1]
            inside = _busiest_s(before.get(name), after.get(name, GONE))
            last, at_end = self._readings[-1][1][name], self._at_end.get(name)
            used[name] = ServiceUse(
                rss_bytes=last.rss_bytes,
                cpu_s=_between_s(self._readings[0][1].get(name), last),
                busy_fraction=inside / (ended_s - began_s)
                if inside is not None and ended_s > began_s
                else None,
                window_cpu_s=_between_s(self._opened[name], after.get(name, GONE))
                if name in self._opened
                else None,
                memory_bytes=at_end.memory_bytes if at_end else None,
                connections=at_end.connections if at_end else None,
                ended=without_own_paths(service.last_words()) if last.gone else "",
                facts=service.facts,
            )
        return used

    def _usages(self) -> dict[str, Usage]:
        return {name: service.usage() for name, service in self._services.items()}

    def _open(self) -> None:
        """Take a reading when the window opens, unless the run is over before that."""
        opens_ns = self._opens_ns.get()
        if opens_ns is None:
            return
        try:
            self._opens_ns.get(timeout=max(0.0, (opens_ns - time.monotonic_ns()) / 1e9))
        except queue.Empty:
            self._opened = self._usages()


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
