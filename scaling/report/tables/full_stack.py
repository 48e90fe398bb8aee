"""The full stack as tables: what each part needs for a request, and how many workers are enough."""

from scaling.analysis.results import StudyResults
from scaling.analysis.served.full_stack import PARTS, Stack, cpu_s, headline_n, in_order, stacks
from scaling.base import formats
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.measures import in_ms
from scaling.report.tables.notes import bound_text, bounds

TITLE = "The full stack"
NOTE = (
    "Least CPU time per request first: proxy, application, pooler and database together; the load "
    "generator is in none of them. Every figure is a median, and medians of parts need not add up "
    "to that of the total."
)
OF_BOTH_KINDS = "Memory is RSS of threads and PSS of processes, in which shared pages count once."
KNEE = (
    "Enough: the number of workers after which throughput does not rise (the lower bound at the "
    "next N is not above the median)."
)


def stack_chapters(results: StudyResults) -> list[Chapter]:
    """The chapter of a study that has stacks; none of any other."""
    found = stacks(results.sections)
    if not found:
        return []
    workers = headline_n(found)
    own = [each for each in results.sections if any(s.curve in each.curves for s in found)]
    words = filter(None, [bound_text(bounds(results.frame, own)), order_text(found, workers)])
    grids = [_parts(found, workers), *_knees(found)]
    return [Chapter(TITLE, [*words], [grid for grid in grids if grid.rows])]


def order_text(found: list[Stack], workers: int) -> str:
    """The first and the last by CPU time per request; empty where fewer than two are known."""
    order = in_order(found, workers)
    if len(order) < 2:
        return ""
    (first, least), (last, most) = order[0], order[-1]
    return (
        f"At N = {workers}, a request needs from {in_ms(cpu_s(least))} ms of CPU time "
        f"({first.name}, {first.configuration}) to {in_ms(cpu_s(most))} ms "
        f"({last.name}, {last.configuration})."
    )


def _parts(found: list[Stack], workers: int) -> Grid:
    headings = ["stack", "on", "with", "requests/s", "P50 ms", "P99 ms", "errors"]
    headings += ["CPU ms/request", *PARTS, "MiB"]
    kinds = {stack.curve.memory_kind for stack in found}
    memory = f"Memory is {kinds.pop()}." if len(kinds) == 1 else OF_BOTH_KINDS
    rows: list[list[Cell]] = []
    for stack, point in in_order(found, workers):
        figures = point.figures
        rows.append(
            [
                stack.name,
                stack.configuration,
                beside_text(stack),
                point.throughput,
                *(in_ms(figures[f"latency_{name}_s"]) for name in ("p50", "p99")),
                figures["load_errors"],
                in_ms(cpu_s(point)),
                *(in_ms(figures[column]) for column in PARTS.values()),
                point.memory,
            ]
        )
    return Grid(
        f"Where a request's CPU time goes, N = {workers}", headings, rows, 3, f"{NOTE} {memory}"
    )


def _knees(found: list[Stack]) -> list[Grid]:
    """Throughput at each N, where stacks have three or more."""
    every_n = sorted({n for stack in found for n in stack.curve.workers})
    if len(every_n) < 3:
        return []
    rows: list[list[Cell]] = []
    for stack in found:
        if len(stack.curve.points) < 3:
            continue
        points = [stack.curve.at(n) for n in every_n]
        figures = [point.throughput if point else formats.BLANK for point in points]
        knee = stack.knee
        enough = str(knee.workers) if knee else f"more than {stack.curve.workers[-1]}"
        rows.append([stack.name, stack.configuration, beside_text(stack), *figures, enough])
    headings = ["stack", "on", "with", *(f"N = {n}" for n in every_n), "enough"]
    return [Grid("Requests/s by number of workers", headings, rows, 3, KNEE)]


def beside_text(stack: Stack) -> str:
    """`nginx, pgbouncer`, or what it is without."""
    return ", ".join(stack.beside) or "neither proxy nor pooler"
