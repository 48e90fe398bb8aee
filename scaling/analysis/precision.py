"""How precisely a study's headline ratios are known: what `--precision` is about.

The ratios and the rule are fixed before anything is measured, and depend on no result but the width
of its interval: blocks are added while an interval is wide, never because of what a ratio is.
Looking after every block still favours intervals that happen to be narrow. Of a study with a single
headline ratio they cover 91 to 95 % instead of 95 %, of one with four, which must all be narrow, 94
to 95 % (normal scatter of 1 to 8 %, asked for 2 %;
tests/analysis/test_precision_costs_little_coverage.py).
"""

import pandas as pd

from scaling.analysis.comparison.baseline import baseline_ratios
from scaling.analysis.comparison.ladder import ladders
from scaling.analysis.comparison.paired import Configuration, Paired, paired
from scaling.analysis.served.capacity import capacities
from scaling.analysis.served.latency_ratios import latency_ratios
from scaling.analysis.served.open_loop import Subject
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import noise_floor
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.labels import short_labels
from scaling.journal.record import StudyLine
from scaling.study.objective import parse_objective


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
    found: dict[str, Estimate] = {}
    for runs in paired(frame, study):
        if runs.section.rate_per_s is None:
            found |= {f"{runs.title}: {name}": ratio for name, ratio in _of(runs).items()}
    found |= _under_load(frame, study)
    return {name: ratio for name, ratio in found.items() if ratio.n}


def _of(runs: Paired) -> dict[str, Estimate]:
    n = runs.headline_n
    found = {}
    for curve in runs.curves:
        for point in curve.points:
            if point.workers == curve.headline_n:
                name = f"{curve.key.arm} {curve.key.model}, N = {point.workers} over 1"
                found[name] = point.speedup
    for ladder in ladders(runs).judged():
        if ladder.workers == n:
            found[f"{ladder.top.arm} over {ladder.bottom.arm}, N = {n}"] = ladder.headline
    for each in baseline_ratios(runs).judged():
        if each.workers == n:
            name = f"{_named(each.ours)} over {_named(each.theirs)}, N = {n}"
            found[name] = each.throughput
    return found


def _under_load(frame: pd.DataFrame, study: StudyLine) -> dict[str, Estimate]:
    floor = noise_floor(frame, study)
    objectives = [parse_objective(text) for text in study.study.get("slo") or ()]
    found: list[tuple[Subject, str, Configuration, Configuration, RatioVerdict]] = [
        (
            each.of.subject,
            f"capacity at {each.of.objective.text}",
            each.of.configuration,
            each.over.configuration,
            each.ratio,
        )
        for each in capacities(frame, objectives, floor).judged().ratios
    ]
    if not objectives:
        found = [
            (each.subject, "P99", each.of, each.over, each.ratio)
            for each in latency_ratios(frame, floor).judged()
        ]
    names = short_labels(
        ((subject.workload, subject.parameters) for subject, *_ in found),
        simulated=study.simulated,
    )
    return {
        f"{names[who.workload, who.parameters]} · {who.sizing} sizing · {who.loop}: {what} of "
        f"{_named(of)} over {_named(over)}, N = {of.workers}": ratio
        for who, what, of, over, ratio in found
        if ratio.verdict.family == "primary"
    }


def _named(configuration: Configuration) -> str:
    return f"{configuration.arm} {configuration.model}"
