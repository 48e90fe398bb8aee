"""The margins that verdicts use, and where they come from, in words."""

import math
from collections.abc import Iterable

from scaling.analysis.comparison.between_studies import Change
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.paired import Measure
from scaling.analysis.results import StudyResults
from scaling.analysis.validity import MARGIN
from scaling.base import formats
from scaling.report.tables.rated import is_open_loop
from scaling.study.controls import CONTROLS


def margins(compared: Compared) -> list[str]:
    """The margins that the verdicts use and where they come from; none without a verdict."""
    if all(ratio.value.coverage is None for ratio in compared.all_ratios):
        return []
    runs = compared.runs
    measured: dict[Measure, str] = {"throughput": "throughput"}
    if any(ratio.measure == "cpu_s_per_op" for ratio in compared.ratios):
        measured["cpu_s_per_op"] = "CPU time"
    if compared.baseline_ratios:
        measured |= {
            memory.over.kind: f"memory ({memory.over.kind})"
            for each in compared.baseline_ratios
            for memory in each.memory
        }
    used = [f"±{formats.percent(runs.margin(each))} in {noun}" for each, noun in measured.items()]
    key = runs.curves[0].key
    known = not math.isnan(runs.floor.of(key.workload, parameters=key.parameters))
    why = f"the A/A spread, and at least {formats.percent(MARGIN)}"
    why = why if known else "there are no A/A pairs, so run-to-run noise is not known"
    return [f"Verdicts use a margin of {formats.listed(used)}: {why}."]


def margins_across(changes: Iterable[Change]) -> list[str]:
    """The margins of a section of two studies, which are those of the study with more noise."""
    judged = [each for each in changes if each.ratio.coverage is not None]
    if not judged:
        return []
    first = judged[0]
    what = "throughput" if first.measure == "throughput" else "P99"
    used = [f"±{formats.percent(first.ratio.verdict.margin)} in {what}"]
    if any(each.memory.n for each in judged):
        used.append(f"±{formats.percent(first.memory.verdict.margin)} in memory")
    why = f"the larger A/A spread of the two studies, and at least {formats.percent(MARGIN)}"
    return [f"Verdicts use a margin of {formats.listed(used)}: {why}."]


def spread_text(results: StudyResults) -> str:
    """How noisy the machine was: the spread of the A/A pairs of each workload, in throughput; in an
    open loop, where throughput is what was asked for, in P99.
    """
    every = results.floor.pairs
    pairs = [each for each in every if each.key.workload not in CONTROLS] or every
    if not pairs:
        return f"Noise: no A/A pairs were run; verdicts use a margin of ±{formats.percent(MARGIN)}."
    spreads: dict[str, list[float]] = {}
    for each in pairs:
        is_open = is_open_loop(each.key, results.study)
        spread = each.floor("latency_p99_s" if is_open else "throughput")
        if math.isfinite(spread):
            name = f"{each.key.workload}{', P99' if is_open else ''}"
            spreads.setdefault(name, []).append(spread)
    known = [f"±{formats.percents(found)} ({name})" for name, found in spreads.items()]
    if not known:
        return "Noise: no A/A pair says how much runs differ (none valid, or too few requests)."
    return f"Noise of equal cells (A/A pairs): {formats.listed(known)}."
