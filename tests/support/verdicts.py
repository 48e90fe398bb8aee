"""Verdicts without their estimates, for tests."""

from collections.abc import Sequence

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.hypotheses import Family
from scaling.analysis.statistics.verdict import RATE, Direction, Margin, Verdict, hypothesis, judge


def verdicts(
    ratios: Sequence[Floats],
    margins: Sequence[Margin | float],
    direction: Sequence[Direction] | None = None,
    family: Family = "primary",
) -> list[Verdict]:
    """Those of one family of ratios of shape (blocks,), each with its margin; rates by default."""
    spoken = [RATE] * len(ratios) if direction is None else direction
    tested = [hypothesis(*each, family) for each in zip(ratios, margins, spoken, strict=True)]
    return [each.verdict for each in judge(tested)]
