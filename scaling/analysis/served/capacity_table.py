"""`scaling.capacity`: the capacities of a study as a table for notebooks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import pandas as pd

from scaling.analysis.blocks import Blocks
from scaling.analysis.ratios import Ratio, Ratios, ratios
from scaling.analysis.served.capacity import Capacity, capacities, with_capacities
from scaling.base.errors import UsageError
from scaling.journal.record import Parameters, StudyLine
from scaling.study import questions
from scaling.study.objective import parse_objective
from scaling.study.questions import CAPACITY, OVER_PROCESSES


class Measured(Protocol):
    """A study's first line, runs and ratios: `StudyResults` has them."""

    @property
    def study(self) -> StudyLine:
        """The first line."""

    @property
    def blocks(self) -> Blocks:
        """The runs by block and cell."""

    @property
    def capacities(self) -> list[Capacity]:
        """Those at the objectives that the study states."""

    @property
    def ratios(self) -> Ratios:
        """Every ratio that the study asks for."""


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
    found, compared = results.capacities, results.ratios
    if objectives != stated:  # not named before the study
        found = capacities(results.blocks, objectives)
        texts = [each.text for each in objectives]
        blocks = replace(with_capacities(results.blocks, found), objectives=texts)
        compared = ratios(blocks, questions.capacities(blocks), exploratory=True)
    if not found:
        raise UsageError(
            f"the study {results.study.name} has no valid run at a rate (an open loop) with enough "
            "requests for the percentile"
        )
    return pd.DataFrame([_row(each, over_processes(each, compared)) for each in found])


def over_processes(of: Capacity, among: Ratios) -> Ratio | None:
    """The ratio of a capacity over that of the strongest processes; None where there is none."""
    measure = CAPACITY.format(of.objective.text)
    found = among.where(OVER_PROCESSES, measure, lambda each: each.of == of.cell)
    return next(iter(found), None)


def _row(each: Capacity, ratio: Ratio | None) -> dict[str, object]:
    cell, estimate = each.cell, each.estimate
    over = ratio.over if ratio else None
    nan = float("nan")
    return {
        "workload": cell.workload,
        "parameters": Parameters.of(cell.parameters).text,
        "sizing": cell.sizing,
        "loop": cell.loop,
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
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
