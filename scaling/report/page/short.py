"""The answer in one table: N threads without the GIL, a row for each workload and loop.

Each row is at the N that the sentences below it speak of, and its verdicts are theirs and
those of the tables that the ratios come from.
"""

from collections.abc import Iterable
from typing import NamedTuple

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.comparison.version_arms import free_arms
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import MARKS

TITLE = "N threads without the GIL"
HEADINGS = [
    "workload and loop",
    "N",
    "over one thread",
    "over the GIL",
    "over processes",
    "CPU time per op over processes",
    "memory over processes",
]
NOTES = {
    "over one thread": "Over one thread: N threads over one of the same arm.",
    "over the GIL": "Over the GIL: over as many threads on the lowest rung of the ladder.",
    "over processes": "Over processes: over as many, on the fastest arm with the GIL.",
}
FEWEST = 2  # rows that are more than the sentence of one of them


class SpokenOf(NamedTuple):
    """A curve that is spoken of, at which N, and its speed-up over N = 1 with its verdict."""

    curve: Curve
    point: Point
    speedup: RatioVerdict


def short_grids(
    told: Iterable[tuple[Paired, Compared | None, list[SpokenOf]]],
) -> list[Grid]:
    """One table, or none where there would be a row at the most.

    `told` has the runs of each section and loop, what they come to against each other, and the
    curves that are spoken of.
    """
    rows = [
        _row(runs, compared, each)
        for runs, compared, chosen in told
        for each in chosen
        if _is_asked(runs, each.curve)
    ]
    if len(rows) < FEWEST:
        return []
    known = [any(row[place] != formats.BLANK for row in rows) for place in range(len(HEADINGS))]
    places = [place for place, is_known in enumerate(known) if is_known]
    headings = [HEADINGS[place] for place in places]
    note = " ".join(NOTES[heading] for heading in headings if heading in NOTES)
    return [Grid(TITLE, headings, [[row[place] for place in places] for row in rows], note=note)]


def _is_asked(runs: Paired, curve: Curve) -> bool:
    return curve.key.model == "threads" and curve.key.arm in free_arms(runs.arms)


def _row(runs: Paired, compared: Compared | None, told: SpokenOf) -> list[Cell]:
    point = told.point
    configuration = Configuration(told.curve.key.arm, told.curve.key.model, point.workers)
    ladders = compared.ladders if compared else []
    baseline_ratios = compared.baseline_ratios if compared else []
    over_gil = [each.headline for each in ladders if each.top == configuration]
    rivals = [each for each in baseline_ratios if each.ours == configuration]
    several = len({each.key.arm for each in runs.curves if _is_asked(runs, each)}) > 1
    figures: list[Estimate | None] = [
        told.speedup,
        next(iter(over_gil), None),
        *(
            (rivals[0].throughput, rivals[0].cpu_s_per_op, rivals[0].memory)
            if rivals
            else (None, None, None)
        ),
    ]
    return [
        f"{runs.title}{f' · {configuration.arm}' if several else ''}",
        f"{point.workers}{MARKS.get(point.region or '', '')}",
        *(figure if figure is not None and figure.n else formats.BLANK for figure in figures),
    ]
