"""What clients saw, as lines: the latency of each configuration at the middle rate, its cost."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from scaling.base import formats
from scaling.report.tables.findings import bounds_heading
from scaling.report.tables.questions.rates import BOUND
from scaling.report.tables.rated import PERCENTILES, AtRate, Line, Rated

MOST_ROWS = 9
COLUMNS = ("latency_p99_s", "latency_p90_s", "latency_p50_s")  # the first that is known
MS_PER_S, US_PER_S = 1e3, 1e6
CPU = "cpu_s_per_op"


def load_lines(found: Sequence[Rated], width: int) -> Iterator[str]:
    """Of each workload in an open loop a heading, and a line for each configuration."""
    left = MOST_ROWS
    for each in found:
        rows = _rows(each)
        column = _column([at for _, at in rows])
        if column is None:
            continue
        if left < 1:
            yield "and more workloads under load: see the tables"
            return
        shown = rows[:left]
        left -= len(shown)
        yield from _table(each, shown, column, width)
        if more := len(rows) - len(shown):
            yield f"  and {formats.plural(more, 'more configuration')}: see the tables"


def _table(
    each: Rated, rows: Sequence[tuple[Line, AtRate]], column: str, width: int
) -> Iterator[str]:
    name, _ = PERCENTILES[column]
    n = rows[0][0].workers
    latencies = [at.point.figures[column].scaled(MS_PER_S, "ms") for _, at in rows]
    cpu = [at.point.figures[CPU].scaled(US_PER_S, "µs") for _, at in rows]
    kind = bounds_heading(latencies)
    rate = formats.number(each.middle_rate_per_s)
    yield f"{each.label}: {name} latency at {rate} {each.section.operation}/s, N = {n} ({kind})"
    names = [_configuration(line, each) for line, _ in rows]
    figures = [
        f"{BOUND if at.is_bound else ''}{value!s} ms" if value.n else formats.BLANK
        for (_, at), value in zip(rows, latencies, strict=True)
    ]
    costs = [f"{value!s} µs CPU a request" if value.n else "" for value in cpu]
    first = min(max(map(cell_len, names)), max(12, width - 50))
    second = max(map(cell_len, figures))
    for configuration, figure, cost in zip(names, figures, costs, strict=True):
        line = f"  {set_cell_size(configuration, first)}  {figure:<{second}}"
        whole = f"{line}  {cost}"
        yield whole if cell_len(whole) <= width else line
    if any(at.is_bound for _, at in rows):
        yield f"  {BOUND} the server fell behind: a lower bound"


def _rows(each: Rated) -> list[tuple[Line, AtRate]]:
    """Every configuration at the headline N that was run at the middle rate."""
    n = telling_n(each)
    at_rate = ((line, line.at(each.middle_rate_per_s)) for line in each.lines if line.workers == n)
    return [(line, at) for line, at in at_rate if at is not None]


def telling_n(each: Rated) -> int:
    """The headline N: the largest with a core for each worker."""
    points = [at.point for line in each.lines for at in line.at_rates]
    on_cores = [point.workers for point in points if point.region == "cores"]
    return max(on_cores, default=max(each.workers))


def _column(rows: Sequence[AtRate]) -> str | None:
    """P99, or the highest percentile below it that has requests enough."""
    return next((name for name in COLUMNS if any(at.point.figures[name].n for at in rows)), None)


def _configuration(line: Line, each: Rated) -> str:
    several = len(each.loops) > 1
    parts = [line.key.arm, line.key.model, *([line.key.loop] if several else [])]
    return " · ".join(parts)
