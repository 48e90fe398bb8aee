"""The full stack: what each part of it needs for a request, and which N is enough.

A stack is an application on a server, as the workload `web` names it, under one arm, model and
loop. Its requests go through a proxy, the application, a pooler and the database, or some of these:
each has CPU time of its own.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scaling.analysis.curves import Curve, Point
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate
from scaling.study.load import open_loop_rate

STACK, PROXY, POOLER = "stack", "proxy", "pooler"
NONE = "none"
# The parts, in the order in which a request goes through them, and their columns.
PARTS = {
    "proxy": "proxy_cpu_s_per_op",
    "application": "cpu_s_per_op",
    "pooler": "pooler_cpu_s_per_op",
    "database": "database_cpu_s_per_op",
}
TOTAL = "stack_cpu_s_per_op"


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack at each N. `beside` are the programs before and behind the application."""

    name: str
    beside: tuple[str, ...]
    curve: Curve

    @property
    def configuration(self) -> str:
        """Arm and model, and a loop that is not asyncio's; servers without loops run as that."""
        key = self.curve.key
        loop = "" if key.loop == "asyncio" else f", {key.loop}"
        return f"{key.arm} {key.model}{loop}"

    @property
    def knee(self) -> Point | None:
        """The point after which throughput does not rise: more workers are not worth having.

        It rises where the lower bound at the next N is above the median at this one. None with
        fewer than three Ns, or where it still rises at the last.
        """
        points = [point for point in self.curve.points if point.throughput.n]
        if len(points) < 3:
            return None
        for point, following in pairwise(points):
            if not following.throughput.low > point.throughput.point:
                return point
        return None

    def parts_s(self, workers: int) -> dict[str, float]:
        """CPU time of each part for a request with N workers, s; they add up to that of all.

        Each part has its mean share over the blocks of the median total: medians of the parts would
        not add up.
        """
        point = self.curve.at(workers)
        if point is None:
            return {}
        runs = {part: self.curve.runs(column, workers) for part, column in PARTS.items()}
        known = np.isfinite(runs["application"] + runs["database"])  # else there is no total
        if not known.any():
            return {}
        each_s = np.nan_to_num(np.array([values[known] for values in runs.values()]))
        shares = (each_s / each_s.sum(axis=0)).mean(axis=1).tolist()
        of_all_s = cpu_s(point).point
        return {part: share * of_all_s for part, share in zip(PARTS, shares, strict=True) if share}


def stacks(sections: Iterable[Section]) -> list[Stack]:
    """Every stack in a closed loop, in the order of the sections."""
    found = []
    for section in sections:
        for curve in section.curves:
            parameters = curve.key.parameters
            if STACK in parameters and open_loop_rate(parameters) is None:
                programs = (str(parameters.get(name, NONE)) for name in (PROXY, POOLER))
                beside = tuple(name for name in programs if name != NONE)
                found.append(Stack(str(parameters[STACK]), beside, curve))
    return found


def headline_n(found: Iterable[Stack]) -> int:
    """The largest N that most of the stacks have: the one at which they are compared."""
    points = (point for stack in found for point in stack.curve.points)
    counts = Counter(point.workers for point in points if point.throughput.n)
    return max(counts, key=lambda n: (counts[n], n), default=1)


def with_all_parts(found: Iterable[Stack]) -> list[Stack]:
    """Those with the most programs beside the application, which are compared."""
    among = list(found)
    most = max((len(stack.beside) for stack in among), default=0)
    return [stack for stack in among if len(stack.beside) == most]


def in_order(found: Iterable[Stack], workers: int) -> list[tuple[Stack, Point]]:
    """The stacks at N workers, the least CPU time per request first."""
    points = [(stack, point) for stack in found if (point := stack.curve.at(workers))]
    known = [each for each in points if cpu_s(each[1]).n]
    return sorted(known, key=lambda each: cpu_s(each[1]).point)


def cpu_s(point: Point) -> Estimate:
    """CPU time of all parts per request, s."""
    return point.figures[TOTAL]
