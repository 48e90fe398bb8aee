"""What all processes counted, as one JSON object, and whether that is valid."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workers.services.load.distribution import Distribution, Figures
from workers.services.load.tally import QUANTITIES

SLIP_MOST = 0.1
"""Share of a latency that may be the generator's own slip: more, and it measures itself."""
SLIP_ALWAYS_MS = 0.1
"""Slip that is never counted against a result: waking up takes so long on an idle machine, too."""
BUSY_MOST = 0.7
"""A busier generator is late more often than not: queueing grows without bound towards 1."""
DECIDING = ("mean", "p50", "p90", "p95", "p99")  # slip here makes a result invalid
DOUBTFUL = (*DECIDING, "p999", "max")  # one stall makes the last two doubtful, no more

LATENCY = ("latency", "censored")  # histograms of answered and of unfinished requests
SETTINGS = ("python", "gil", "loop", "timer", "slice_ns")  # alike in all processes

type Object = dict[str, Any]


def summarize(
    reports: Sequence[Mapping[str, Any]], instants_ns: Sequence[int], *, histograms: bool
) -> Object:
    """Add up the reports of all processes (see `generator.send`).

    `latency_ms` holds answered and censored requests; of the latter it knows the latency so far,
    which is a lower bound. `background_ms` is that of the background requests, which count in
    everything but `latency_ms` and `service_ms`. `histograms` adds those of each sub-window, in ns,
    and the instants (monotonic) between them.
    """
    passed_ns = instants_ns[-1] - instants_ns[0]
    windows = [window for report in reports for window in report["windows"]]
    background = _background(windows)
    every = [*windows, *background]
    errors, declined = (_counted(every, name) for name in ("errors", "declined"))
    latency, service, beside, slip, censored = (
        Distribution(window[name] for name in names for window in among)
        for among, names in (
            (windows, LATENCY),
            (windows, ("service",)),
            (background, LATENCY),
            (every, ("slip",)),
            (every, ("censored",)),
        )
    )
    summary: Object = {
        "offered": sum(window["offered"] for window in every),
        "completed": sum(window["completed"] for window in every),
        "censored": censored.n,
        "errors": dict(sorted(errors.items())),
        "declined": dict(sorted(declined.items())),
        "rate_per_s": sum(report["answered"] for report in reports) * 1e9 / passed_ns,
        "busy_fraction": max(report["busy_fraction"] for report in reports),
        "cpu_s": sum(report["cpu_s"] for report in reports),
        "latency_ms": latency.figures(),
        "service_ms": service.figures(),
        "background_ms": beside.figures(),
        "slip_ms": slip.figures(),
        "processes": len(reports),
        **{name: reports[0][name] for name in SETTINGS},
    }
    summary["doubtful"] = doubtful(summary["slip_ms"], summary["latency_ms"])
    summary["invalid"] = reasons(summary, open_loop=summary["timer"] is not None)
    if histograms:
        summary["instants_ns"] = list(instants_ns)
        summary["windows"] = _by_window([report["windows"] for report in reports])
    return summary


def doubtful(slip: Figures, latency: Figures) -> list[str]:
    """Figures of the latency of which the same figure of slip is more than a tenth."""
    found = []
    for name in DOUBTFUL:
        late, total = slip[name], latency[name]
        if late is None or total is None:
            continue
        if late > max(SLIP_MOST * total, SLIP_ALWAYS_MS):
            found.append(name)
    return found


def reasons(summary: Object, *, open_loop: bool) -> list[str]:
    """Why the result is invalid; empty if it is not. In a closed loop nothing can slip."""
    found = []
    if not summary["rate_per_s"]:
        found.append("no request was answered")
    if late := [name for name in summary["doubtful"] if name in DECIDING]:
        found.append(
            f"the generator was late: slip is more than {SLIP_MOST:.0%} of latency in "
            f"{', '.join(late)}"
        )
    if open_loop and summary["busy_fraction"] > BUSY_MOST:
        found.append(
            f"the generator was {summary['busy_fraction']:.0%} busy, more than {BUSY_MOST:.0%}; "
            "use more --processes"
        )
    return found


def _by_window(by_process: Sequence[Sequence[Mapping[str, Any]]]) -> list[Object]:
    """Counts and histograms of each sub-window, all processes added up."""
    return [_added_up(same) for same in zip(*by_process, strict=True)]


def _added_up(windows: Sequence[Mapping[str, Any]]) -> Object:
    """Counts of all requests, histograms as in the summary; `background` has answered ones and
    unfinished ones.
    """
    background = _background(windows)
    every = [*windows, *background]
    return {
        "offered": sum(each["offered"] for each in every),
        "completed": sum(each["completed"] for each in every),
        "received": sum(each["received"] for each in windows),
        **{name: dict(_counted(every, name)) for name in ("errors", "declined")},
        **{name: Distribution(each[name] for each in windows).document() for name in QUANTITIES},
        "slip": Distribution(each["slip"] for each in every).document(),
        "background": Distribution(
            each[name] for name in LATENCY for each in background
        ).document(),
    }


def _counted(windows: Iterable[Mapping[str, Any]], name: str) -> Counter[str]:
    """Errors, or declined requests, of windows by their kind."""
    return sum((Counter(each[name]) for each in windows), Counter())


def _background(windows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The background requests of windows, in the form of windows."""
    return [found for each in windows if (found := each.get("background"))]
