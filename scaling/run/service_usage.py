"""What the services of a workload used while one run was measured."""

import time
from collections.abc import Mapping

from scaling.journal.record import ServiceUse
from scaling.run.service_process import ServiceProcess, Usage

ENOUGH = 4  # readings: before, two inside the run, after


class ServiceUsage:
    """The services of one run: where they are, and what they used while it ran."""

    def __init__(self, services: Mapping[str, ServiceProcess]) -> None:
        self.urls = {name: list(service.urls) for name, service in services.items()}
        self._services = services
        self._readings: list[tuple[float, dict[str, Usage]]] = []

    def read(self) -> None:
        """Take a reading of all services."""
        usages = {name: service.usage() for name, service in self._services.items()}
        self._readings.append((time.monotonic(), usages))

    def cpu_s(self) -> float:
        """CPU seconds that the services have used so far; takes a reading."""
        self.read()
        return sum(sum(usage.cpu_s.values()) for usage in self._readings[-1][1].values())

    def use(self) -> dict[str, ServiceUse]:
        """What each service used.

        CPU time is that of the whole run and of all processes. The busy fraction is the share of a
        core that the busiest process used: a mean would hide a process that workers wait for
        behind others that idle. It covers the time between the readings that the run itself asked
        for (after its imports, at the window's end), since there is no traffic before and after.
        """
        used = {}
        within = self._readings[1:-1] if len(self._readings) >= ENOUGH else self._readings
        for name in self.urls:
            (began_s, before), (ended_s, after) = within[0], within[-1]
            whole = _cpu_s_by_process(self._readings[0][1][name], self._readings[-1][1][name])
            inside = _cpu_s_by_process(before[name], after[name])
            used[name] = ServiceUse(
                rss_bytes=self._readings[-1][1][name].rss_bytes,
                cpu_s=sum(whole) if whole else None,
                busy_fraction=max(inside) / (ended_s - began_s)
                if inside and ended_s > began_s
                else None,
            )
        return used


def _cpu_s_by_process(before: Usage, after: Usage) -> list[float]:
    """CPU seconds between two readings, by process; empty if the service was gone at either.

    A process that was started in between has used all of its time in between.
    """
    if not before.cpu_s:
        return []
    return [used_s - before.cpu_s.get(pid, 0.0) for pid, used_s in after.cpu_s.items()]
