"""Figures of a study for pages that follow them from commit to commit.

`bencher`: the Bencher Metric Format (https://bencher.dev/docs/reference/bencher-metric-format).
`github-action-benchmark`: the list of its tools `customBiggerIsBetter` and, in a file of its own,
`customSmallerIsBetter` (https://github.com/benchmark-action/github-action-benchmark).

Each cell is a benchmark. Its figures are medians over the blocks, with the bounds that tables show:
a 95 % interval from six blocks on, the range of the runs below. Invalid runs are in none.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from scaling.analysis.curves import Point
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.groups import labels
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import Cell
from scaling.study.load import open_loop_rate

type Better = Literal["more", "less"]

# What is followed, by the name that the page shows; Bencher takes 64 characters. A point has them
# under the names on the right.
FOLLOWED = {
    "throughput": "throughput_per_s",
    "speedup": "speedup",
    "cpu-time-per-operation": "cpu_s_per_op",
    "memory": "memory",
    "latency-p99": "latency_p99_s",
}
BETTER: dict[str, Better] = {"speedup": "more", "memory": "less"}  # those that are no column


class Trend(NamedTuple):
    """One figure of one cell."""

    cell: str
    name: str
    better: Better
    estimate: Estimate


def bencher(journal: Journal) -> str:
    """All figures as one JSON object: cell → figure → value and its bounds.

    Raises:
        UsageError: no run is valid.
    """
    found: dict[str, dict[str, Any]] = {}
    for each in trends(journal):
        value = each.estimate
        metric = {"value": value.point, "lower_value": value.low, "upper_value": value.high}
        found.setdefault(each.cell, {})[each.name] = metric
    return _json(found)


def github_action_benchmark(journal: Journal, better: Better) -> str:
    """The figures of which more, or less, is better as a JSON list: its tools take one kind each.

    Raises:
        UsageError: no run is valid.
    """
    return _json(
        [
            {
                "name": f"{each.cell}: {each.name}",
                "unit": each.estimate.unit,
                "value": each.estimate.point,
                "range": each.estimate.bounds,
                "extra": bounds_kind([each.estimate]) or "1 run",
            }
            for each in trends(journal)
            if each.better == better
        ]
    )


def trends(journal: Journal) -> list[Trend]:
    """Every figure that is followed, of every cell that has it.

    Raises:
        UsageError: no run is valid.
    """
    results = StudyResults.of(journal)
    curves = [curve for section in results.sections for curve in section.curves]
    names = labels(journal.frame)
    found = [
        each
        for curve in curves
        for point in curve.points
        for each in _of_point(names[curve.key.workload, curve.key.parameters], curve.key, point)
    ]
    if not found:
        raise UsageError(f"{journal.path}: holds no valid run, and so no figure to follow")
    return found


def _of_point(label: str, key: Cell, point: Point) -> Iterator[Trend]:
    words = (label.replace(" · ", " "), key.sizing, key.loop, key.arm, key.model)
    cell = f"{' '.join(words)} N={point.workers}"
    is_scheduled = open_loop_rate(key.parameters) is not None
    for name, measure in FOLLOWED.items():
        says_nothing = {"throughput_per_s": is_scheduled, "speedup": point.workers == 1}
        estimate = point.estimate(measure)
        if estimate.n and not says_nothing.get(measure):
            better = BETTER.get(measure) or MEASURES[measure].better or "more"
            yield Trend(cell, name, better, estimate)


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
