"""`scaling.capacity`: the capacities of a study as a table for notebooks."""

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from scaling.analysis.served.capacity import Capacities, Capacity, capacities
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.base.errors import UsageError
from scaling.journal.record import StudyLine
from scaling.study.objective import parse_objective


class Measured(Protocol):
    """A study's runs, its first line and its noise floor: `StudyResults` has them."""

    @property
    def frame(self) -> pd.DataFrame:
        """The runs."""

    @property
    def study(self) -> StudyLine:
        """The first line."""

    @property
    def floor(self) -> NoiseFloor:
        """The noise floor."""

    @property
    def capacities(self) -> Capacities:
        """Those at the objectives that the study states."""


def capacity(results: Measured, slo: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Capacity at each objective, from `StudyResults`: requests/s of all workers together.

    A row for each configuration and objective. `slo` are objectives such as `"p99<20ms"`; None is
    for those that the study states; all ratios at others are exploratory. Columns:
    `workload`, `parameters` (JSON, without the rate), `sizing`, `loop`, `arm`, `model`, `workers`,
    `slo`; `capacity_per_s` with `_low` and `_high` (95 % interval, or range below six blocks), `n`
    blocks, `outside` of which lie outside the rates; `bound`: `≥` or `<` where the capacity itself
    does; `most_per_s`: that by latencies from the send where the load generator was late, else the
    same; `per_core` and `per_gib`; `over` (the strongest processes at that N), `ratio` to them with
    `_low`, `_high`, `verdict`, `family` and `why`. Where there is nothing to compare with, `over`
    is empty and the ratio NaN.

    Raises:
        UsageError: no objective, one that cannot be read, or no run of an open loop.
    """
    stated = list(map(parse_objective, results.study.study.get("slo") or ()))
    texts = [slo] if isinstance(slo, str) else slo
    objectives = stated if texts is None else list(map(parse_objective, texts))
    if not objectives:
        raise UsageError(
            f"the study {results.study.name} states no objective; name one, such as slo='p99<20ms'"
        )
    if objectives == stated:
        found = results.capacities
    else:  # not named before the study
        found = capacities(results.frame, objectives, results.floor, primary=False).judged()
    if not found.every:
        raise UsageError(
            f"the study {results.study.name} has no valid run at a rate (an open loop) with enough "
            "requests for the percentile"
        )
    return pd.DataFrame([_row(each, found) for each in found.every])


def _row(each: Capacity, found: Capacities) -> dict[str, object]:
    configuration, estimate = each.configuration, each.estimate
    compared = found.over(each, "over processes")
    over = compared.over.configuration if compared else None
    ratio = compared.ratio if compared else None
    nan = float("nan")
    return {
        "workload": each.subject.workload,
        "parameters": each.subject.parameters,
        "sizing": each.subject.sizing,
        "loop": each.subject.loop,
        "arm": configuration.arm,
        "model": configuration.model,
        "workers": configuration.workers,
        "slo": each.objective.text,
        "capacity_per_s": estimate.point,
        "capacity_per_s_low": estimate.low,
        "capacity_per_s_high": estimate.high,
        "bound": each.bound,
        "most_per_s": each.most.point,
        "n": estimate.n,
        "outside": each.outside,
        "per_core": each.per_core.point,
        "per_gib": each.per_gib.point,
        "over": f"{over.workers} {over.model} on {over.arm}" if over else "",
        "ratio": ratio.point if ratio else nan,
        "ratio_low": ratio.low if ratio else nan,
        "ratio_high": ratio.high if ratio else nan,
        "verdict": ratio.verdict.word if ratio else "",
        "family": ratio.verdict.family if ratio else "",
        "why": ratio.verdict.why if ratio else "",
    }
