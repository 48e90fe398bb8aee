"""The answer of `scaling app` as tables and as JSON: what to ship, the two factors, every
configuration.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer, CopiedOnWrite, Factors, Figures, Shipped, is_own
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.journal.beside import CHECK_FILE
from scaling.journal.record import Cell as StudyCell
from scaling.report.deploy import deploy_json
from scaling.report.tables.findings import arm_and_model, bounds_heading, times, verdict
from scaling.report.tables.grid import Cell, Grid, or_bound
from scaling.study.settle import caveats

HEADINGS = {
    "requests/s": "throughput_per_s",
    "P50 ms": "p50_ms",
    "P99 ms": "p99_ms",
    "CPU ms a request": "cpu_ms_per_request",
    "memory MiB": "memory_mib",
    "MiB before load": "idle_mib",
    "MiB per extra worker": "extra_mib",
    "start s": "start_s",
    "per core": "per_core",
    "per GiB": "per_gib",
}
# Runs with too few requests have no percentiles; only forked workers are read before the load.
NOT_OF_ALL = ("p50_ms", "p99_ms", "idle_mib")
OWN = "\nServer loops: the same code for each model, on uvicorn with httptools or aiohttp's server."
NOT_DECIDED = "not decided"
MEASURES = {"throughput": "throughput", "cpu_s_per_op": "CPU time per request"}
FACTORS = (
    "The first factor is that of one thread over one process, the second that of the gain of N "
    "threads over the gain of N processes. In every block they multiply to the ratio."
)


def application_grids(results: StudyResults) -> Iterator[Grid]:
    """The tables beside that of what to ship; none for a study of anything else."""
    found = results.application
    if found is None:
        return
    if found.factors:
        yield _factors(found)
    yield _configurations(found)


def ship_grid(found: AppAnswer) -> Grid:
    """For each aim what to ship, with the figures of threads and of the best processes."""
    kind = bounds_heading(each.ratio for each in found.shipped)
    headings = ["for", "ship", "compared", "threads", "processes", "ratio", kind, "verdict"]
    rows: list[list[Cell]] = [
        [
            aim_text(each),
            shipped_text(each),
            "\n".join(map(arm_and_model, (each.ratio.of, each.ratio.over))),
            *sides(each),
            times(each.ratio),
            each.ratio.bounds or formats.BLANK,
            verdict(each.ratio),
        ]
        for each in found.shipped
    ]
    return Grid(f"What to ship, N = {found.workers}", headings, rows, words=3)


def aim_text(each: Shipped) -> str:
    """What the figures are: `requests/s at the peak`, `MiB`, `P99 ms at 400/s`."""
    what, at, where = each.measure.partition(" at ")
    unit = {"latency": f"{what} ms", "memory": "MiB"}.get(each.aim, "requests/s")
    return f"{unit}{at}{where}"


def sides(each: Shipped) -> list[Cell]:
    """The figures of threads and of the processes; of a capacity outside the rates the bound."""
    return [
        or_bound(value, bound) if bound or value.n else formats.BLANK
        for bound, value in zip(each.bounds, each.figures, strict=True)
    ]


def shipped_text(each: Shipped) -> str:
    """`3.14t threads`, or that it is not decided."""
    return arm_and_model(each.cell) if each.cell else NOT_DECIDED


def _factors(found: AppAnswer) -> Grid:
    def cell(ratio: Estimate) -> str:
        return "\n".join(filter(None, (times(ratio), ratio.bounds)))

    rows: list[list[Cell]] = [
        [
            MEASURES[each.whole.figure],
            arm_and_model(each.whole.over),
            *map(cell, (each.whole, each.build, each.sharing)),
        ]
        for each in found.factors
    ]
    headings = [
        *("threads over processes", "over", "ratio"),
        *("the build, one loop", f"sharing one process, N = {found.workers}"),
    ]
    title = "Why threads and processes differ"
    return Grid(title, headings, rows, words=2, note=FACTORS)


def _configurations(found: AppAnswer) -> Grid:
    """A loop or server that all have is in the note, and has no column."""
    one = {name: {getattr(each, name) for each in found.figures} for name in ("loop", "server")}
    varying = [name for name, values in one.items() if len(values) > 1]
    alike = [f"{name} {min(values)}" for name, values in one.items() if len(values) == 1]
    names = ["arm", "model", *varying, "N"]
    shown = {
        heading: name
        for heading, name in HEADINGS.items()
        if name not in NOT_OF_ALL or any(getattr(each, name).n for each in found.figures)
    }
    rate = "" if math.isnan(found.rate_per_s) else f" at {formats.number(found.rate_per_s)}/s"
    return Grid(
        "Every configuration",
        [*names, *shown, "errors"],
        [_row(each, varying, shown.values()) for each in found.figures],
        words=len(names),
        note=f"{f'All have {formats.listed(alike)}. ' if alike else ''}"
        f"Latencies are{rate or ' not known'}, from the due time; all else is at the peak."
        f"{OWN if any(is_own(each.cell) for each in found.figures) else ''}",
    )


def _row(each: Figures, varying: Sequence[str], shown: Iterable[str]) -> list[Cell]:
    cell = each.cell
    figures = [getattr(each, attribute) for attribute in shown]
    cells = [value if value.n else formats.BLANK for value in figures]
    names = [getattr(each, name) for name in varying]
    return [cell.arm, cell.model, *names, str(cell.workers), *cells, f"{each.errors:,}"]


# ------------------------------------------------------------------------------------------ as JSON
# The answer of `scaling app` as one JSON object: `configurations` and `ship`.

# Keys of a configuration; each has its bounds beside it, as `…_low` and `…_high`.
SPREADS = {
    "throughput_per_s": "throughput_per_s",
    "p50_ms": "p50_ms",
    "p99_ms": "p99_ms",
    "cpu_ms_per_request": "cpu_ms_per_request",
    "memory_mib": "memory_mib",
    "memory_before_load_mib": "idle_mib",
    "memory_mib_per_extra_worker": "extra_mib",
    "throughput_per_s_per_core": "per_core",
    "throughput_per_s_per_gib": "per_gib",
    "start_s": "start_s",
}


def application_json(results: StudyResults) -> str:
    """The object; without a valid run, both of its lists are empty."""
    found = results.application
    document: dict[str, Any] = {
        "study": results.study.name,
        "caveats": caveats(results.study),
        "configurations": [],
        "ship": {},
    }
    if found is not None:
        document["workers"] = found.workers
        document["rate_per_s"] = _number(found.rate_per_s)
        document["configurations"] = [_configuration(each) for each in found.figures]
        document["ship"] = {_aim(each): _shipped(each) for each in found.shipped}
        document["forked_memory"] = _copied(found.copied_on_write)
        document["factors"] = {each.whole.figure: _factors_json(each) for each in found.factors}
    document["deploy"] = deploy_json(results)
    document["check"] = msgspec.to_builtins(CHECK_FILE.beside(results.path))
    return json.dumps(document, indent=2)


def _aim(each: Shipped) -> str:
    return each.measure if each.aim == "capacity" else each.aim


def _configuration(each: Figures) -> dict[str, Any]:
    cell = each.cell
    return {
        "arm": cell.arm,
        "model": cell.model,
        "server": each.server,
        "loop": each.loop,
        "workers": cell.workers,
        **{
            key: value
            for name, attribute in SPREADS.items()
            for key, value in _with_bounds(name, getattr(each, attribute)).items()
        },
        "errors": each.errors,
    }


def _shipped(each: Shipped) -> dict[str, Any]:
    chosen = each.cell
    return {
        "configuration": _named(chosen) if chosen else None,
        "measure": each.measure,
        "of": _named(each.ratio.of),
        "over": _named(each.ratio.over),
        "ratio": _number(each.ratio.point),
        "interval": [_number(each.ratio.low), _number(each.ratio.high)],
        "blocks": each.ratio.n,
        "verdict": each.ratio.verdict.word,
        "why": each.ratio.verdict.why,
        "in_turn": not each.ratio.why_apart,
        "why_not_in_turn": each.ratio.why_apart or None,
    }


def _factors_json(each: Factors) -> dict[str, Any]:
    return {
        key: value
        for name in ("whole", "build", "sharing")
        for key, value in _with_bounds(name, getattr(each, name)).items()
    }


def _copied(found: CopiedOnWrite | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "configuration": _named(found.forked.cell),
        "before_load_mib": _number(found.forked.idle_mib.point),
        "after_load_mib": _number(found.forked.memory_mib.point),
        "workers": found.workers,
        "least_mib": _number(found.least_mib),
        "most_mib": _number(found.most_mib),
    }


def _named(cell: StudyCell) -> dict[str, Any]:
    return {
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
    }


def _with_bounds(name: str, value: Estimate) -> dict[str, float | None]:
    return {
        name: _number(value.point),
        f"{name}_low": _number(value.low),
        f"{name}_high": _number(value.high),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
