"""What the helpers of a workload used while one run was measured."""

import time
from collections.abc import Mapping

from scaling.journal.record import ServiceUse
from scaling.run.service_process import ServiceProcess, Usage

ENOUGH = 4  # readings: before, two inside the run, after


class ServiceUsage:
    """The helpers of one run: where they are, and what they used while it ran."""

    def __init__(self, services: Mapping[str, ServiceProcess]) -> None:
        self.urls = {name: list(service.urls) for name, service in services.items()}
        self._services = services
        self._readings: list[tuple[float, dict[str, Usage]]] = []

    def read(self) -> None:
        """Take a reading of all helpers."""
        usages = {name: service.usage() for name, service in self._services.items()}
        self._readings.append((time.monotonic(), usages))

    def cpu_s(self) -> float:
        """CPU seconds that the helpers have used so far; each call is a reading that counts."""
        self.read()
        return sum(usage.cpu_s or 0.0 for usage in self._readings[-1][1].values())

    def use(self) -> dict[str, ServiceUse]:
        """What each helper used.

        CPU time is that of the whole run and of all processes. The busy fraction is the share of
        a core that each of a helper's processes (one a URL) used, their mean, between the readings
        that the run itself asked for (after its imports, at the window's end), since before and
        after them there is no traffic.
        """
        used = {}
        within = self._readings[1:-1] if len(self._readings) >= ENOUGH else self._readings
        for name, urls in self.urls.items():
            (begun, before), (ended, after) = within[0], within[-1]
            inside_s = _difference(before[name], after[name])
            whole_s = _difference(self._readings[0][1][name], self._readings[-1][1][name])
            used[name] = ServiceUse(
                rss_bytes=self._readings[-1][1][name].rss_bytes,
                cpu_s=whole_s,
                busy_fraction=None
                if inside_s is None or ended <= begun
                else inside_s / (ended - begun) / len(urls),
            )
        return used


def _difference(before: Usage, after: Usage) -> float | None:
    if before.cpu_s is None or after.cpu_s is None:
        return None
    return after.cpu_s - before.cpu_s
