"""Capacities at an objective, now and then: what an open loop has in the place of throughput."""

from collections.abc import Iterator, Sequence

import numpy as np

from scaling.analysis.blocks import blocks_of
from scaling.analysis.comparison.between_studies import Study
from scaling.analysis.gate.cells import passes
from scaling.analysis.gate.changes import MORE_IS_BETTER, Compared
from scaling.analysis.gate.request import Filter
from scaling.analysis.ratios import BEYOND_RATES
from scaling.analysis.served.capacity import Capacity, capacities
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.statistics.verdict import wider
from scaling.analysis.table.labels import short_labels
from scaling.study.objective import Objective, parse_objective


def capacity_figures(
    now: Study, then: Study, wanted: Filter, floors: Sequence[NoiseFloor]
) -> Iterator[Compared]:
    """The capacities that pass a filter, at the objectives that both studies state.

    One that lies outside the rates in some block proves nothing, nor does a change that may be the
    lateness of the load generator. The margin is that of CPU time, as in
    `scaling.analysis.served.capacity`.
    """
    objectives = [each for each in _objectives(now) if each in _objectives(then)]
    if not objectives:
        return
    ours, theirs = (capacities(blocks_of(*study), objectives) for study in (now, then))
    names = short_labels(
        [(each.cell.workload, each.cell.parameters) for each in ours], simulated=now[1].simulated
    )
    before = {(each.cell, each.objective): each for each in theirs}
    for own in ours:
        cell, other = own.cell, before.get((own.cell, own.objective))
        n = cell.workers
        if other is None or not passes(cell, wanted) or (wanted.at and n not in wanted.at):
            continue
        name = names[cell.workload, cell.parameters]
        parts = [name, cell.sizing, cell.loop, cell.arm, cell.model, f"N = {n}", own.objective.text]
        yield Compared(
            cell=" · ".join(parts),
            what="capacity/s",
            then=other.estimate,
            now=own.estimate,
            runs=(_rates(own), _rates(other)),
            margin=wider(floor.margin("cpu_s_per_op") for floor in floors),
            direction=MORE_IS_BETTER,
            why=BEYOND_RATES if own.outside or other.outside else "",
            bounds=(other.bound, own.bound),
            between=_between(own, other),
        )


def _objectives(study: Study) -> list[Objective]:
    return [parse_objective(text) for text in study[1].study.get("slo") or ()]


def _between(own: Capacity, other: Capacity) -> tuple[float, float]:
    """The least and the greatest ratio that the lateness of the load generator allows."""
    return own.estimate.point / other.most.point, own.most.point / other.estimate.point


def _rates(capacity: Capacity) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([each.rate_per_s for each in capacity.crossings], np.float64)
