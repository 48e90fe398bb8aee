"""The margin of verdicts, which ratios were measured in turn, how noisy it was: in words."""

import math
from collections.abc import Iterable

from scaling.analysis.blocks import NO_TURNS, OTHER_N
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.report.tables.rated import is_open_loop
from scaling.study.controls import CONTROLS


def margins(compared: Compared) -> list[str]:
    """The margin that the verdicts use; none without a verdict."""
    return margin_of(compared.ratios)


def margin_of(ratios: Iterable[Ratio]) -> list[str]:
    """The margin that these ratios are judged by; none without a verdict."""
    used = [each.verdict.margin for each in ratios if each.coverage is not None]
    return [_margin(used[0])] if used else []


def turns_text(ratios: Iterable[Ratio]) -> str:
    """Of which questions the cells were measured in turn, and of which not and why.

    Empty where no journal says so: in those of studies that knew no turns.
    """
    asked: dict[str, dict[str, None]] = {}
    for each in ratios:
        asked.setdefault(each.why_apart, {})[each.question] = None
    if asked.keys() <= {NO_TURNS, OTHER_N}:
        return ""
    questions = asked.pop("", None)
    told = [f"Measured in turn: {formats.listed(questions or ['nothing'])}"]
    told += [f"not: {formats.listed(names)} ({why})" for why, names in asked.items()]
    return f"{'; '.join(told)}."


def _margin(share: float) -> str:
    return f"Verdicts use a margin of ±{formats.percent(share)}: what differs by less is the same."


def spread_text(results: StudyResults, *, brief: bool = False) -> str:
    """How noisy the machine was: the spread of the A/A pairs of each workload, in throughput; in an
    open loop, where throughput is what was asked for, in P99. A `brief` text does not name them.
    """
    every = results.floor.pairs
    pairs = [each for each in every if each.key.workload not in CONTROLS] or every
    if not pairs:
        return "Noise: no A/A pairs were run, so nothing checks the verdicts."
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
    if brief:
        known = [f"±{formats.percents(each for found in spreads.values() for each in found)}"]
    return f"Noise of equal cells (A/A pairs): {formats.listed(known)}."
