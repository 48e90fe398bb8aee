"""Verdicts by themselves, for tests that care for no estimate."""

from collections.abc import Sequence

from scaling.analysis.statistics.estimate import Floats
from scaling.analysis.statistics.verdict import RATE, Direction, Verdict, ask, judged


def verdicts(
    ratios: Sequence[Floats], margins: Sequence[float], direction: Sequence[Direction] | None = None
) -> list[Verdict]:
    """Those of one family of ratios of shape (blocks,), each with its margin; rates by default."""
    spoken = [RATE] * len(ratios) if direction is None else direction
    family = [ask(*each) for each in zip(ratios, margins, spoken, strict=True)]
    return [each.verdict for each in judged(family)]
