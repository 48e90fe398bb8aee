"""The summary of all processes' reports, as JSON and as text, and whether it is valid."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workers.services.load.tally import QUANTITIES, Distribution, Figures

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


def summarize(
    reports: Sequence[Mapping[str, Any]], instants_ns: Sequence[int], *, histograms: bool
) -> dict[str, Any]:
    """Add up the reports of all processes (see `generator.send`).

    `latency_ms` holds answered and censored requests; of the latter it knows the latency so far,
    which is a lower bound. `background_ms` is that of the background requests, which count in
    everything but `latency_ms` and `service_ms`. `delivered_per_s` is what the members of `rooms`
    received in the window; None where nothing is sent to rooms. `histograms` adds those of each
    sub-window, in ns, and the instants (monotonic) between them.
    """
    passed_ns = instants_ns[-1] - instants_ns[0]
    windows = [window for report in reports for window in report["windows"]]
    background = _background(windows)
    every = [*windows, *background]
    summary: dict[str, Any] = {
        "offered": sum(window["offered"] for window in every),
        "completed": sum(window["completed"] for window in every),
        "censored": _distribution(every, "censored").n,
        "errors": dict(sorted(_counted(every, "errors").items())),
        "declined": dict(sorted(_counted(every, "declined").items())),
        "rate_per_s": sum(report["answered"] for report in reports) * 1e9 / passed_ns,
        "busy_fraction": max(report["busy_fraction"] for report in reports),
        "cpu_s": sum(report["cpu_s"] for report in reports),
        "latency_ms": _distribution(windows, *LATENCY).figures(),
        "service_ms": _distribution(windows, "service").figures(),
        "first_byte_ms": _distribution(windows, "first_byte").figures(),
        "background_ms": _distribution(background, *LATENCY).figures(),
        "slip_ms": _distribution(every, "slip").figures(),
        "delivered_per_s": _sum_of(reports, "delivered_per_s"),
        "rooms": _sum_of(reports, "rooms"),
        "processes": len(reports),
        **{name: reports[0][name] for name in SETTINGS},
    }
    summary["doubtful"] = doubtful(summary["slip_ms"], summary["latency_ms"])
    summary["invalid"] = reasons(summary, open_loop=summary["timer"] is not None)
    if histograms:
        summary["instants_ns"] = list(instants_ns)
        by_process = (report["windows"] for report in reports)
        summary["windows"] = [_added_up(same) for same in zip(*by_process, strict=True)]
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


def reasons(summary: dict[str, Any], *, open_loop: bool) -> list[str]:
    """The reasons that make the result invalid, if any. In a closed loop nothing can slip."""
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


def _added_up(windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
        **{name: _distribution(windows, name).document() for name in QUANTITIES},
        "slip": _distribution(every, "slip").document(),
        "background": _distribution(background, *LATENCY).document(),
    }


def _sum_of(reports: Iterable[Mapping[str, Any]], name: str) -> Any:
    """The sum over the processes that send to rooms; None if there are none."""
    found = [report[name] for report in reports if name in report]
    return sum(found) if found else None


def _distribution(windows: Iterable[Mapping[str, Any]], *names: str) -> Distribution:
    """The values of all histograms of these names in windows."""
    return Distribution(window[name] for name in names for window in windows)


def _counted(windows: Iterable[Mapping[str, Any]], name: str) -> Counter[str]:
    """Errors, or declined requests, of windows by their kind."""
    return sum((Counter(each[name]) for each in windows), Counter())


def _background(windows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The background requests of windows, in the form of windows."""
    return [found for each in windows if (found := each.get("background"))]


# ----------------------------------------------------------------------------------------- printout
# The summary for people.

WIDTH = 80
BACKLOG_SHARE = 0.01  # of unfinished requests, from which P99 is a lower bound
COLUMNS = ("mean", "p50", "p90", "p95", "p99", "p999", "max")
ROWS = {
    "latency_ms": "latency",
    "first_byte_ms": "first byte",
    "service_ms": "service",
    "slip_ms": "slip",
    "background_ms": "background",
}
MEANING_BACKGROUND = "background: latency of background requests, left out of other rows but slip"
MEANING_OPEN = (
    "latency, first byte: from the due time; service: from the send",
    "slip: how late the generator was",
)
MEANING_ROOMS = "latency: from the due time until the last member has received the message"
MEANING_CLOSED = ("closed loop: latency is from the send",)
KINDS_OF_ERRORS = {
    "connect": "could not connect",
    "timeout": "no answer in time",
    "reset": "connection reset",
    "closed": "connection closed without an answer",
    "short": "connection closed within an answer",
    "malformed": "not an HTTP answer to a request",
    "mismatch": "answer differs from the message",
    "lost": "not received by all",
    "doubled": "received twice",
    "reordered": "received after a later one",
}
STATUS = "status"


def dealt(connections: int, servers: int) -> str:
    """`3 connections: 2 or 1 to each of 2 servers`; empty where all have the same."""
    each, rest = divmod(connections, servers or 1)
    return f"{connections:,} connections: {each + 1} or {each} to each of {servers} servers" * (
        rest > 0
    )


def printout(summary: Mapping[str, Any], *notes: str) -> str:
    """A screen of text: counts, `notes`, percentiles in ms, errors, the generator's own state."""
    open_loop = summary["timer"] is not None
    offered, completed, censored = (summary[name] for name in ("offered", "completed", "censored"))
    lines = [
        f"{summary['rate_per_s']:,.1f} answers/s",
        f"{offered:,} requests: {completed:,} answered, {censored:,} unfinished at the end",
    ]
    if summary["rooms"]:
        lines = [
            f"{summary['delivered_per_s']:,.1f} deliveries/s to {summary['rooms']:,} rooms",
            f"{offered:,} messages: {completed:,} received by all, {censored:,} not yet at the end",
        ]
    lines += filter(None, notes)
    lines += [f"  {count:,} failed: {_in_words(kind)}" for kind, count in summary["errors"].items()]
    lines += [f"  {count:,} declined: {kind}" for kind, count in summary["declined"].items()]
    lines += ["", f"{'ms':<11}" + "".join(f"{name:>9}" for name in COLUMNS)]
    for key, name in ROWS.items():
        figures = summary[key]
        if figures["n"]:
            cells = "".join(f"{_number(figures[column]):>9}" for column in COLUMNS)
            lines.append(f"{name:<11}{cells}")
    lines += ["", *(MEANING_OPEN if open_loop else MEANING_CLOSED)]
    lines += [MEANING_ROOMS] * bool(summary["rooms"])
    if summary["background_ms"]["n"]:
        lines.append(MEANING_BACKGROUND)
    latency = summary["latency_ms"]
    if latency["n"] and any(latency[column] is None for column in COLUMNS):
        lines.append("–: fewer than 20 requests beyond this percentile")
    if open_loop and censored > BACKLOG_SHARE * offered:
        lines.append("the server fell behind: latencies include those so far, as lower bounds")
    lines.append(_generator(summary))
    lines += [f"INVALID: {reason}" for reason in summary["invalid"]]
    if doubtful := [name for name in summary["doubtful"] if name in ("p999", "max")]:
        lines.append(f"doubtful because the generator was late: {', '.join(doubtful)}")
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ") if len(line) > WIDTH else line
        for line in lines
    )


def _in_words(kind: str) -> str:
    return f"wrong {kind}" if kind.startswith(STATUS) else KINDS_OF_ERRORS.get(kind, kind)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.3f}" if value < 100 else f"{value:,.1f}" if value < 1e5 else f"{value:,.0f}"


def _generator(summary: Mapping[str, Any]) -> str:
    count = summary["processes"]
    parts = [
        f"generator: {summary['busy_fraction']:.0%} busy",
        f"{count} processes" if count > 1 else "1 process",
        f"{summary['loop']} on {summary['python']}{'' if summary['gil'] else ' without the GIL'}",
    ]
    if summary["timer"]:
        parts.append(summary["timer"])
    slice_ns = summary["slice_ns"]
    parts.append(f"slice {slice_ns / 1e6:g} ms" if slice_ns else "slice unknown")
    return ", ".join(parts)
