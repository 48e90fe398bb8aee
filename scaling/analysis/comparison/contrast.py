"""One way held against another by what it does and what that costs, paired inside blocks."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import batched

from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.statistics.verdict import COST, RATE, Direction, RatioVerdict, ask, judged

ASKED: tuple[tuple[Measure, Direction], ...] = (("throughput", RATE), ("cpu_s_per_op", COST))


@dataclass(frozen=True, slots=True)
class Contrast:
    """The ratios of `of` over `over`."""

    of: Configuration
    over: Configuration
    throughput: RatioVerdict
    cpu_s_per_op: RatioVerdict


def contrasts(runs: Paired, pairs: Iterable[tuple[Configuration, Configuration]]) -> list[Contrast]:
    """Each pair that was measured; all of them stand in one table, so they are one family."""
    known = [pair for pair in pairs if len(runs.measured(pair)) == len(pair)]
    questions = [
        ask(runs.ratios(*pair, measure), runs.margin(measure), direction)
        for pair in known
        for measure, direction in ASKED
    ]
    answers = batched(judged(questions), len(ASKED))
    ratios = (Contrast(*pair, *each) for pair, each in zip(known, answers, strict=True))
    return [each for each in ratios if each.throughput.n]
