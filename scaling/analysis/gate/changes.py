"""What changed since an earlier study: the figures of its cells, now over then.

The two studies were not made side by side, so ratios are unpaired. All of them are one exploratory
family, and their margin is the larger noise floor of the two studies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scaling.analysis.gate.cells import CheckedCell, Pair
from scaling.analysis.statistics.decision_forecast import blocks_to_decide
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.statistics.verdict import (
    ERROR_RATE,
    Direction,
    Hypothesis,
    RatioVerdict,
    judge,
    unpaired_hypothesis,
)

type Figure = Literal["throughput", "latency_p99_s", "cpu_s_per_op", "memory"]

LESS_IS_BETTER = Direction("better", "worse")
DIRECTIONS: dict[Figure, Direction] = {
    "throughput": Direction("worse", "better"),
    "latency_p99_s": LESS_IS_BETTER,
    "cpu_s_per_op": LESS_IS_BETTER,
    "memory": LESS_IS_BETTER,
}


@dataclass(frozen=True, slots=True)
class CellChange:
    """One figure of a cell, `then` and `now`, and the `ratio` of now to then with its verdict.

    `blocks` is how many each study needs until an inconclusive ratio is decided, as
    `blocks_to_decide` has it; NaN where the ratio is decided or nothing is known of its scatter.
    """

    cell: CheckedCell
    figure: Figure
    then: Estimate
    now: Estimate
    ratio: RatioVerdict
    blocks: float


def changes(both: Sequence[Pair], floors: Sequence[NoiseFloor], void: str = "") -> list[CellChange]:
    """Every figure that both studies have of a cell. In a `void` study (the reason) all are
    inconclusive.
    """
    asked = [(pair, figure) for pair in both for figure in _figures(*pair)]
    family = [_hypothesis(*each, floors) for each in asked]
    verdicts = judge(family)
    # The Benjamini-Hochberg threshold of one more hypothesis beside those that are decided.
    decided = sum(each.verdict.word != "inconclusive" for each in verdicts)
    level = ERROR_RATE * min(1.0, (decided + 1) / max(1, len(family)))
    return [
        _change(pair, figure, ratio, level, void)
        for (pair, figure), ratio in zip(asked, verdicts, strict=True)
    ]


def _figures(now: CheckedCell, then: CheckedCell) -> Iterator[Figure]:
    """Those that both have; in an open loop throughput is the schedule's, and P99 is compared."""
    figures: list[Figure] = [
        "throughput" if now.section.rate_per_s is None else "latency_p99_s",
        "cpu_s_per_op",
    ]
    if now.curve.memory_kind == then.curve.memory_kind:
        figures.append("memory")
    for figure in figures:
        if now.point.estimate(figure).n and then.point.estimate(figure).n:
            yield figure


def _hypothesis(pair: Pair, figure: Figure, floors: Sequence[NoiseFloor]) -> Hypothesis:
    ours, theirs = (cell.runs(figure) for cell in pair)
    margin = max(floor.margin(pair[0].curve.key.workload, figure) for floor in floors)
    return unpaired_hypothesis(ours, theirs, margin, DIRECTIONS[figure], "exploratory")


def _change(pair: Pair, figure: Figure, ratio: RatioVerdict, level: float, void: str) -> CellChange:
    now, then = pair
    if void:
        proves_nothing = replace(ratio.verdict, word="inconclusive", why=void)
        ratio = replace(ratio, verdict=proves_nothing)
    blocks = float("nan")
    if ratio.verdict.word == "inconclusive" and not void:
        runs = now.runs(figure), then.runs(figure)
        blocks = blocks_to_decide(*runs, ratio.point, ratio.verdict.margin, level)
    estimates = then.point.estimate(figure), now.point.estimate(figure)
    return CellChange(now, figure, *estimates, ratio, blocks)
