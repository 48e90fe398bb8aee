"""The window of a command, in one piece or in slices: its instants, and the CPU time at them.

Slices are put together as those of a worker (`workers.worker.meter`).
"""

from collections.abc import Sequence
from typing import Any

from workers.host.channel import DriverError
from workers.worker.meter import Joined

type Reading = tuple[int, int]  # when it was read, and the CPU time so far, ns


class Window:
    """What is known of a window from its readings; begins without any."""

    def __init__(self) -> None:
        self.slices: dict[str, list[int]] = {"opened_ns": [], "closed_ns": []}  # true instants
        self._joined = Joined("instant_ns", "cpu_ns")

    def add(self, instants_ns: Sequence[int], readings: Sequence[Reading]) -> int:
        """Add the window or its next slice; return how late it was closed, ns.

        There is a reading a little after each instant. The CPU time is brought to the instants,
        between the readings around them.
        """
        self.slices["opened_ns"].append(instants_ns[0])
        self.slices["closed_ns"].append(instants_ns[-1])
        first, *others = zip(instants_ns, _at(instants_ns, readings), strict=True)
        if len(self.slices["opened_ns"]) > 1:
            self._joined.leave_out(first)
        else:
            self._joined.add(first)
        for each in others:
            self._joined.add(each)
        return readings[-1][0] - instants_ns[-1]

    def as_worker(self, answered: Sequence[int] | None) -> dict[str, Any]:
        """The whole command as the one worker of a record.

        Operations are the answers that the load generator counted between two instants.

        Raises:
            DriverError: the driver does not say how many answers there were.
        """
        instants_ns, cpu_ns = self._joined.columns.values()
        if answered is None or len(answered) != len(instants_ns) - 1:
            raise DriverError("the driver did not say how many requests were answered")
        operations = [0]
        for count in answered:
            operations.append(operations[-1] + count)
        zeros = [0] * len(instants_ns)
        return {
            "index": 0,
            "ticks": {
                "instant_ns": instants_ns,
                "time_ns": instants_ns,
                "operations": operations,
                "errors": zeros,
                "bytes": zeros,
                "cpu_ns": cpu_ns,
                "minor_faults": None,
            },
        }


def _at(instants_ns: Sequence[int], readings: Sequence[Reading]) -> list[int]:
    """CPU time at the instants, on straight lines through the readings."""
    found = []
    for k, instant_ns in enumerate(instants_ns):
        first = min(max(k - 1, 0), len(readings) - 2)
        (from_ns, before), (until_ns, after) = readings[first], readings[first + 1]
        pace = (after - before) / max(until_ns - from_ns, 1)
        found.append(round(before + pace * (instant_ns - from_ns)))
    return found
