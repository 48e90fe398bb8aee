"""The answer of `scaling app` as tables: what to ship, the two factors, every configuration."""

import math
from collections.abc import Iterable, Iterator, Sequence

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import SERVER, AppAnswer, Figures, Shipped
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.findings import bounds_heading, times, verdict
from scaling.report.tables.grid import Cell, Grid

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
            "\n".join(f"{side.arm} {side.model}" for side in (each.ratio.of, each.ratio.over)),
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
        f"{bound} {formats.number(value.point)}" if bound else value if value.n else formats.BLANK
        for bound, value in zip(each.bounds, each.figures, strict=True)
    ]


def shipped_text(each: Shipped) -> str:
    """`3.14t threads`, or that it is not decided."""
    chosen = each.cell
    return f"{chosen.arm} {chosen.model}" if chosen else NOT_DECIDED


def _factors(found: AppAnswer) -> Grid:
    def cell(ratio: Estimate) -> str:
        return "\n".join(filter(None, (times(ratio), ratio.bounds)))

    rows: list[list[Cell]] = [
        [
            MEASURES[each.whole.figure],
            f"{each.whole.over.arm} {each.whole.over.model}",
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
        f"{OWN if any(each.server == SERVER for each in found.figures) else ''}",
    )


def _row(each: Figures, varying: Sequence[str], shown: Iterable[str]) -> list[Cell]:
    cell = each.cell
    figures = [getattr(each, attribute) for attribute in shown]
    cells = [value if value.n else formats.BLANK for value in figures]
    names = [getattr(each, name) for name in varying]
    return [cell.arm, cell.model, *names, str(cell.workers), *cells, f"{each.errors:,}"]
