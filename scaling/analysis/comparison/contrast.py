"""One way held against another by what it does and what that costs, paired inside blocks."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import batched

from scaling.analysis.comparison.paired import Measure, Paired, Way
from scaling.analysis.statistics.verdict import COST, RATE, Judged, Speech, ask, judged

ASKED: tuple[tuple[Measure, Speech], ...] = (("throughput", RATE), ("cpu_s_per_op", COST))


@dataclass(frozen=True, slots=True)
class Held:
    """The ratios of `of` over `over`."""

    of: Way
    over: Way
    throughput: Judged
    cpu_s_per_op: Judged


def held(runs: Paired, pairs: Iterable[tuple[Way, Way]]) -> list[Held]:
    """Each pair that was measured; all of them stand in one table, so they are one family."""
    known = [pair for pair in pairs if len(runs.measured(pair)) == len(pair)]
    questions = [
        ask(runs.ratios(*pair, measure), runs.margin(measure), speech)
        for pair in known
        for measure, speech in ASKED
    ]
    answers = batched(judged(questions), len(ASKED))
    ratios = (Held(*pair, *each) for pair, each in zip(known, answers, strict=True))
    return [each for each in ratios if each.throughput.n]
