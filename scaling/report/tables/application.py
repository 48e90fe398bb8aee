"""The answer of `scaling app` as tables: what to ship, the two factors, every configuration."""

import math
from collections.abc import Iterator, Sequence

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import SERVER, AppAnswer, Factors, Figures, Shipped
from scaling.base import formats
from scaling.base.vocabulary import WORKERS
from scaling.report.tables.findings import bounds_heading, times, verdict
from scaling.report.tables.grid import Cell, Grid

HEADINGS = {
    "requests/s": "throughput_per_s",
    "P50 ms": "p50_ms",
    "P99 ms": "p99_ms",
    "CPU ms a request": "cpu_ms_per_request",
    "memory MiB": "memory_mib",
    "MiB per extra worker": "extra_mib",
    "start s": "start_s",
    "per core": "per_core",
    "per GiB": "per_gib",
}
OWN = "\nServer loops: the same code for each model, on uvicorn with httptools or aiohttp's server."
NOT_DECIDED = "not decided"
MEASURES = {"throughput": "throughput", "cpu_s_per_op": "CPU time per request"}
FACTORS = (
    "The first factor is that of one thread over one process, the second that of the gain of N "
    "threads over the gain of N processes. In every block they multiply to the ratio."
)


def application_grids(results: StudyResults) -> Iterator[Grid]:
    """The tables; none for a study of anything else."""
    found = results.application
    if found is None:
        return
    if found.shipped:
        yield _ship(found)
    if found.factors:
        yield _factors(found)
    yield _configurations(found)


def _ship(found: AppAnswer) -> Grid:
    kind = bounds_heading(each.ratio for each in found.shipped)
    headings = ["for", "ship", "threads", "compared with", "ratio", kind, "verdict"]
    rows: list[list[Cell]] = [
        [
            each.measure,
            shipped_text(each),
            each.of.arm,
            f"{each.over.arm} {each.over.model}",
            times(each.ratio),
            each.ratio.bounds or formats.BLANK,
            verdict(each.ratio),
        ]
        for each in found.shipped
    ]
    return Grid(f"What to ship, N = {found.workers}", headings, rows, words=4)


def shipped_text(each: Shipped) -> str:
    """`3.14t threads`, or that it is not decided."""
    chosen = each.configuration
    return f"{chosen.arm} {chosen.model}" if chosen else NOT_DECIDED


def _factors(found: AppAnswer) -> Grid:
    kind = bounds_heading(each.whole for each in found.factors)
    headings = ["measure", "part", "ratio", kind]
    rows = [row for each in found.factors for row in _factor_rows(each)]
    first = found.factors[0]
    over = WORKERS[first.over.model]
    title = f"{first.of.workers} threads over {first.over.workers} {over}, in two factors"
    return Grid(title, headings, rows, words=2, note=FACTORS)


def _factor_rows(each: Factors) -> Iterator[list[Cell]]:
    for part, ratio in (
        ("threads over processes", each.whole),
        ("what the build costs one loop", each.build),
        (f"what sharing one process costs at N = {each.of.workers}", each.sharing),
    ):
        yield [MEASURES[each.measure], part, times(ratio), ratio.bounds or formats.BLANK]


def _configurations(found: AppAnswer) -> Grid:
    """A loop or server that all have is in the note, and has no column."""
    one = {name: {getattr(each, name) for each in found.figures} for name in ("loop", "server")}
    varying = [name for name, values in one.items() if len(values) > 1]
    alike = [f"{name} {min(values)}" for name, values in one.items() if len(values) == 1]
    names = ["arm", "model", *varying, "N"]
    rate = "" if math.isnan(found.rate_per_s) else f" at {formats.number(found.rate_per_s)}/s"
    return Grid(
        "Every configuration",
        [*names, *HEADINGS, "errors"],
        [_row(each, varying) for each in found.figures],
        words=len(names) - 1,
        note=f"{f'All have {formats.listed(alike)}. ' if alike else ''}"
        f"Latencies are{rate or ' not known'}, from the due time; all else is at the peak."
        f"{OWN if any(each.server == SERVER for each in found.figures) else ''}",
    )


def _row(each: Figures, varying: Sequence[str]) -> list[Cell]:
    arm, model, workers, _ = each.configuration
    figures = [getattr(each, attribute) for attribute in HEADINGS.values()]
    cells = [value if value.n else formats.BLANK for value in figures]
    names = [getattr(each, name) for name in varying]
    return [arm, model, *names, str(workers), *cells, f"{each.errors:,}"]
