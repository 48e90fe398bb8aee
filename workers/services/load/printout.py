"""The summary for people."""

import textwrap
from collections.abc import Mapping
from typing import Any

WIDTH = 80
BACKLOG_SHARE = 0.01  # of unfinished requests, from which P99 is a lower bound
COLUMNS = ("mean", "p50", "p90", "p95", "p99", "p999", "max")
ROWS = {
    "latency_ms": "latency",
    "service_ms": "service",
    "slip_ms": "slip",
    "background_ms": "background",
}
MEANING_BACKGROUND = "background: latency of background requests, left out of other rows but slip"
MEANING_OPEN = (
    "latency: from the due time; service: from the send",
    "slip: how late the generator was",
)
MEANING_CLOSED = ("closed loop: latency is from the send",)
KINDS_OF_ERRORS = {
    "connect": "could not connect",
    "timeout": "no answer in time",
    "reset": "connection reset",
    "closed": "connection closed without an answer",
    "short": "connection closed within an answer",
    "malformed": "not an HTTP answer to a request",
    "mismatch": "answer differs from the message",
}


def printout(summary: Mapping[str, Any]) -> str:
    """A screen of text: counts, percentiles in ms, errors, the generator's own state."""
    open_loop = summary["timer"] is not None
    offered, completed, censored = (summary[name] for name in ("offered", "completed", "censored"))
    lines = [
        f"{summary['rate_per_s']:,.1f} answers/s",
        f"{offered:,} requests: {completed:,} answered, {censored:,} unfinished at the end",
    ]
    lines += [
        f"  {count:,} failed: {KINDS_OF_ERRORS.get(kind, f'wrong {kind}')}"
        for kind, count in summary["errors"].items()
    ]
    lines += [f"  {count:,} declined: {kind}" for kind, count in summary["declined"].items()]
    lines += ["", f"{'ms':<11}" + "".join(f"{name:>9}" for name in COLUMNS)]
    for key, name in ROWS.items():
        figures = summary[key]
        if figures["n"]:
            cells = "".join(f"{_number(figures[column]):>9}" for column in COLUMNS)
            lines.append(f"{name:<11}{cells}")
    lines += ["", *(MEANING_OPEN if open_loop else MEANING_CLOSED)]
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
