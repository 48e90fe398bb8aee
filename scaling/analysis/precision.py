"""How precisely a study's headline ratios are known: what `--precision` is about.

The ratios and the rule are fixed before anything is measured, and depend on no result but the width
of its interval: blocks are added while an interval is wide, never because of what a ratio is.
Looking after every block still favours intervals that happen to be narrow. Of a study with a single
headline ratio they cover 91 to 95 % instead of 95 %, of one with four, which must all be narrow, 94
to 95 % (normal scatter of 1 to 8 %, asked for 2 %;
tests/analysis/test_order_of_runs_lowers_noise.py).
"""

import pandas as pd

from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.labels import short_labels
from scaling.journal.record import StudyLine
from scaling.study.questions import OVER_PROCESSES, P99, THROUGHPUT, without_rate

AT_PEAK = (("headline", THROUGHPUT), (OVER_PROCESSES, THROUGHPUT))
WORDS = {P99: "P99"}


def headline_precision(frame: pd.DataFrame, study: StudyLine) -> dict[str, Estimate]:
    """Every headline ratio of a study, by its name.

    These are the speed-up of each curve at its own headline N and, where there are arms or models
    to compare, the whole ladder's and threads (or interpreters) over processes at the headline N of
    their section and loop. Of an open loop they are the primary ratios alone: capacity at each
    objective, or P99 at the middle rate where the study states none. Ratios without a single value
    are left out: more blocks would not give them one.

    Raises:
        UsageError: the frame holds several studies.
    """
    results = StudyResults(frame, study)
    found: dict[str, Estimate] = {}
    for compared in results.judged:
        if compared.section.rate_per_s is None and not compared.is_across_loops:
            for curve in compared.curves:
                n = curve.headline_n
                if n is not None and (point := curve.at(n)) is not None:
                    who = f"{curve.key.arm} {curve.key.model}, N = {n} over 1"
                    found[f"{compared.title}: {who}"] = point.speedup
            for ratio in compared.ratios:
                at_headline = ratio.of.workers == compared.headline_n
                if at_headline and (ratio.question, ratio.measure) in AT_PEAK:
                    found[f"{compared.title}: {_of_and_over(ratio)}"] = ratio
    return {name: ratio for name, ratio in (found | _under_load(results)).items() if ratio.n}


def _of_and_over(ratio: Ratio) -> str:
    """`3.14t over 3.14, N = 2`; of threads over processes with their models."""
    of, over = ratio.of, ratio.over
    if ratio.question == "headline":
        return f"{of.arm} over {over.arm}, N = {of.workers}"
    return f"{of.arm} {of.model} over {over.arm} {over.model}, N = {of.workers}"


def _under_load(results: StudyResults) -> dict[str, Estimate]:
    """The primary ratios of an open loop."""
    found = [
        each
        for each in results.ratios
        if each.is_headline and each.measure != THROUGHPUT and each.question == OVER_PROCESSES
    ]
    cells = [without_rate(each.of) for each in found]
    names = short_labels(
        ((cell.workload, cell.parameters) for cell in cells), simulated=results.study.simulated
    )
    return {
        f"{names[cell.workload, cell.parameters]} · {cell.sizing} sizing · {cell.loop}: "
        f"{WORDS.get(each.measure, each.measure)} of {_of_and_over(each)}": each
        for each, cell in zip(found, cells, strict=True)
    }
