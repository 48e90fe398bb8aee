"""Columns of runs with an overload, and of servers that decline what they cannot answer in time.

P99 is back at the first moment after the overload from which on, up to the end of the window, at
least 99 % of the requests get a good answer within twice the P99 before the overload. A request
that is declined, wrong or unfinished counts as a slow one. `recovery_s` is the time from the end of
the overload to that moment. Before the overload and after that moment at least as many requests
must be due as a P99 takes. Moments are the borders of the parts of the window.
"""

from typing import NamedTuple

import numpy as np

from scaling.analysis.table.column import OBJECT, Column, Read, Shown
from scaling.analysis.table.generator import of_load
from scaling.analysis.table.latency import SHARES, Counted, counted, fewest
from scaling.analysis.table.stacks import NS_PER_S
from scaling.journal.record import RunLine, SubWindow

REFUSED, MISSED = "status 503", "status 504"
TIMES_CALM = 2.0  # of the P99 before the overload: below, latency is back
P99 = SHARES["p99"]
NEARLY_S = 1e-6  # between a border and a moment that are the same
DECLINES = {"deadline_ms", "in_flight_limit"}  # parameters of workloads that decline requests


class Recovery(NamedTuple):
    """What an overload does to one run; NaN where too few requests were due."""

    calm_p99_s: float = np.nan
    p99_s: float = np.nan
    good_per_s: float = np.nan
    recovery_s: float = np.nan
    recovered: float = np.nan


def recovery_of(run: RunLine) -> Recovery:
    """The figures of a run; all NaN where it had no overload."""
    load = run.load
    if load is None or load.overload is None or run.record is None or not load.windows:
        return Recovery()
    opened, closed = run.record.instants_ns.opened, run.record.instants_ns.closed
    if opened is None or closed is None:
        return Recovery()
    begins_s = load.overload.after_s
    ends_s = begins_s + load.overload.lasts_s
    borders_s = np.linspace(0, (closed - opened) / NS_PER_S, len(load.windows) + 1)
    parts = list(zip(borders_s[:-1], borders_s[1:], load.windows, strict=True))
    before = _together([part for _, end, part in parts if end <= begins_s + NEARLY_S])
    beside = [
        part
        for begin, end, part in parts
        if begin > begins_s - NEARLY_S and end < ends_s + NEARLY_S
    ]
    after = [(begin, part) for begin, _, part in parts if begin > ends_s - NEARLY_S]
    calm_s = _p99(before)
    recovery_s, recovered = _recovery(after, TIMES_CALM * calm_s)
    lasts_s = float(np.diff(borders_s)[0] * len(beside))
    return Recovery(
        calm_p99_s=calm_s,
        p99_s=_p99(_together(beside)),
        good_per_s=sum(part.answered for part in beside) / lasts_s if beside else np.nan,
        recovery_s=recovery_s - ends_s,
        recovered=recovered,
    )


def _recovery(after: list[tuple[float, SubWindow]], limit_s: float) -> tuple[float, float]:
    """When P99 is back, s from the start of the window, and 1; else the last known moment, and 0.

    NaN where it cannot be known.
    """
    if np.isnan(limit_s) or not after:
        return np.nan, np.nan
    due = np.array([part.offered or 0 for _, part in after])
    good = np.array([_within(part, limit_s) for _, part in after])
    begins_s = np.array([begin for begin, _ in after])
    rest = np.cumsum(due[::-1])[::-1]
    slow = rest - np.cumsum(good[::-1])[::-1]
    enough = rest >= fewest(P99)
    if not enough.any():
        return np.nan, np.nan
    back = np.flatnonzero(enough & (slow <= (1 - P99) * rest))
    if not len(back):
        return float(begins_s[enough][-1]), 0.0
    return float(begins_s[back[0]]), 1.0


def _within(part: SubWindow, limit_s: float) -> int:
    found = _together([part])
    return int(found.counts[found.values_s <= limit_s].sum())


def _together(parts: list[SubWindow]) -> Counted:
    return counted([part.latency for part in parts if part.latency is not None])


def _p99(latencies: Counted) -> float:
    return latencies.quantile_s(P99) if latencies.total >= fewest(P99) else np.nan


def _in_recovery(name: str) -> Read:
    return lambda rows: [getattr(found, name) for found in rows["overload_figures"]]


def _share(kind: str) -> Read:
    """Requests declined with this status ÷ those offered; NaN of workloads that decline none."""

    def of(run: RunLine) -> float:
        may = not DECLINES.isdisjoint(run.cell.parameters)
        if not may or run.load is None or not run.load.offered:
            return np.nan
        return run.load.declined.get(kind, 0) / run.load.offered

    return lambda rows: list(map(of, rows.runs))


OVERLOAD = {
    "refused_fraction": Column(
        read=_share(REFUSED),
        definition="requests refused (status 503) ÷ requests due, of a workload with a limit on "
        "requests in flight",
        words="refused requests",
        better="less",
        shown=Shown(heading="refused %", name="refused_percent", factor=100, place=101, swept=True),
    ),
    "deadline_missed_fraction": Column(
        read=_share(MISSED),
        definition="requests given up at the deadline (status 504) ÷ requests due, of a workload "
        "with a deadline",
        words="missed deadlines",
        better="less",
        shown=Shown(
            heading="deadline missed %",
            name="deadline_missed_percent",
            factor=100,
            place=102,
            swept=True,
        ),
    ),
    "overload_factor": Column(
        read=of_load(lambda load: load.overload.factor if load.overload else None),
        definition="rate in the overload ÷ rate before and after it",
        in_frame=False,
    ),
    "overload_figures": Column(
        read=lambda rows: list(map(recovery_of, rows.runs)),
        dtype=OBJECT,
        definition="all that follow",
        in_frame=False,
    ),
    "calm_p99_s": Column(
        read=_in_recovery("calm_p99_s"),
        unit="s",
        definition="P99 of good answers to requests due before the overload, from 2,000 on",
        words="P99 latency before the overload",
        better="less",
        noise="latency_p99_s",
        shown=Shown(heading="calm P99 ms", name="calm_p99_ms", factor=1e3, place=103),
    ),
    "overload_p99_s": Column(
        read=_in_recovery("p99_s"),
        unit="s",
        definition="P99 of good answers to requests due in the overload, from 2,000 on",
        words="P99 latency in the overload",
        better="less",
        noise="latency_p99_s",
        shown=Shown(heading="overload P99 ms", name="overload_p99_ms", factor=1e3, place=104),
    ),
    "overload_good_per_s": Column(
        read=_in_recovery("good_per_s"),
        unit="requests/s",
        definition="good answers to requests due in the overload ÷ its length",
        words="good answers in the overload",
        better="more",
        shown=Shown(heading="good/s in overload", name="overload_good_per_s", place=105),
    ),
    "recovery_s": Column(
        read=_in_recovery("recovery_s"),
        unit="s",
        definition="from the end of the overload until P99 is within twice that before it; a lower "
        "bound where the run is `not-recovered`",
        words="time until P99 is back",
        better="less",
        noise="latency_p99_s",
        shown=Shown(heading="P99 back after s", name="recovery_s", place=107),
    ),
    "recovered": Column(
        read=_in_recovery("recovered"),
        definition="1 if P99 was back, 0 if not",
        in_frame=False,
    ),
}
