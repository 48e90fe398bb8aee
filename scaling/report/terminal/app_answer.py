"""The answer of `scaling app`, in at most 24 lines of 80 columns: what to ship, and why."""

import math
import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from rich.cells import cell_len

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer, Factors, Figures, Shipped, best_pool
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.base.vocabulary import THREADS, WORKERS
from scaling.journal.beside import CHECK_FILE
from scaling.report.application import NOT_DECIDED, aim_text, shipped_text, sides
from scaling.report.tables.check import check_sentence
from scaling.report.tables.findings import arm_and_model, bounds_heading, times, with_bounds
from scaling.report.tables.grid import WIDTH, Cell
from scaling.report.tables.notes import refused_sentence, spread_text
from scaling.report.terminal.answer import LINES, few_cores, left_out, more_blocks, wrapped
from scaling.study.questions import POOL

FEWEST_ROWS = 3  # of the table: threads, and what they are compared with
ABOVE = 2  # lines above the rows of the table: what they are, and the headings
NOTHING = "No answer: threads and processes are compared, and no run of one of them is valid."
FACTOR_OF = {"throughput": "throughput", "cpu_s_per_op": "CPU per request"}
AIMS = {"throughput": "requests/s", "latency": "P99", "memory": "memory"}
GIB = 2.0**30


def next_command(results: StudyResults, folder: Path) -> str:
    """The command that is most worth typing now."""
    check = CHECK_FILE.read(folder)
    if check and any(THREADS in each.models for each in check.findings):
        return "correct what the check found (the page has the remedies), then measure again"
    if more := more_blocks(results):
        return more
    found = results.application
    if found and any(each.cell is None for each in found.shipped):
        return "scaling doctor (not all is decided: what disturbs this machine?)"
    return f"scaling gate {shlex.quote(str(folder))} --min-efficiency 0.8 (in CI)"


def app_lines(
    results: StudyResults,
    width: int = WIDTH,
    most: int = LINES,
    memory_bytes: float | None = None,
) -> list[str]:
    """What to ship, the two factors, the figures of each configuration, the noise: in at most so
    many lines.

    With `memory_bytes` they say how many workers fit into that.
    """
    found = results.application
    sound, wrong = _check(results)
    title = f"THE ANSWER of {results.study.name}"
    doubts = [*results.caveats, *wrapped(wrong, width, 2)]
    if found is None:
        nothing = [*wrapped(NOTHING, width, 2), *wrapped(left_out(results), width, 2)]
        return [title, *doubts, *nothing][:most]
    head = wrap(f"{title}, N = {found.workers}", width)
    lines = [*head, *doubts, *ship_lines(found, width)]
    for factors in found.factors:
        lines += wrapped(factors_text(factors), width, 3)
    texts = (
        pools_text(found),
        fitting_text(found, memory_bytes) if memory_bytes else "",
        copied_text(found),
    )
    later = [line for text in texts for line in wrapped(text, width, 2)]
    room = most - len(lines) - len(later)
    rows = ABOVE + min(len(found.at_n), FEWEST_ROWS)
    trust = [sound, few_cores(results), left_out(results), spread_text(results)]
    trust.append(refused_sentence(results.study))
    noise = wrapped(" ".join(filter(None, trust)), width, max(1, min(3, room - rows)))
    return [*lines, *figure_lines(found, width, room - len(noise)), *later, *noise][:most]


def fitting_text(found: AppAnswer, memory_bytes: float) -> str:
    """`Workers in 2 GiB, extrapolated from N ≤ 2: 3.14t threads 880–920, …`.

    Of what is compared.
    """
    known = [
        f"{arm_and_model(each.cell)} {_count(*fitting)}"
        for each in _compared(found) or found.at_n
        if (fitting := each.fitting(memory_bytes))
    ]
    start = f"Workers in {formats.number(memory_bytes / GIB)} GiB"
    if not known:
        return f"{start}: not known."
    return f"{start}, extrapolated from N ≤ {found.largest_n}: {', '.join(known)}."


def pools_text(found: AppAnswer) -> str:
    """How many threads each loop's pool should have, for each aim, with what that brings."""
    if not found.pools:
        return ""
    aims = [
        f"{best_pool(each).parameters[POOL]} for {AIMS[aim]} ({each.of.parameters[POOL]} over "
        f"{each.over.parameters[POOL]}: {with_bounds(each)}, {each.verdict.word})"
        for aim, each in found.pools.items()
    ]
    return f"Threads in each of {found.workers} loops' pools: {'; '.join(aims)}."


def copied_text(found: AppAnswer) -> str:
    """Memory of forked workers before and after the load, and its bounds for more of them."""
    copied = found.copied_on_write
    if copied is None:
        return ""
    before, after, least, most = map(
        formats.number,
        (
            copied.forked.idle_mib.point,
            copied.forked.memory_mib.point,
            min(copied.least_mib, copied.most_mib),
            copied.most_mib,
        ),
    )
    return (
        f"{arm_and_model(copied.forked.cell)}: {before} MiB before the load, {after} after it; "
        f"N = {copied.workers}: {least} (as here) to {most} (as fresh processes)."
    )


def _compared(found: AppAnswer) -> list[Figures]:
    """Threads, then the processes that are best at one aim or another: on the loop and server that
    the answer is about, which come first.
    """
    ours, theirs = (
        [getattr(each.ratio, side) for each in found.shipped] for side in ("of", "over")
    )
    first = next(iter(found.at_n), None)
    about = [
        each
        for each in found.at_n
        if first and (each.loop, each.server) == (first.loop, first.server)
    ]
    return [
        *(each for each in about if each.cell in ours),
        *(each for each in about if each.cell in theirs),
    ]


def _count(fewest: int, most: int) -> str:
    return f"{fewest:,}" if fewest == most else formats.span(f"{fewest:,}", f"{most:,}")


def _check(results: StudyResults) -> tuple[str, str]:
    """The sentence about a check that found nothing, and about one with findings: one is empty,
    both are without a check.
    """
    check = CHECK_FILE.beside(results.path)
    if check is None:
        return "", ""
    sentence = check_sentence(check)
    return (sentence, "") if check.ok else ("", sentence)


def ship_lines(found: AppAnswer, width: int) -> Iterator[str]:
    """For each aim: the figures of threads and of the best processes, their ratio, what to ship."""
    if not found.shipped:
        yield from wrapped(NOTHING, width, 2)
        return
    kind = bounds_heading(each.ratio for each in found.shipped)
    lines: list[str] = []
    # The most that there is room for.
    every = (
        (aim_text, with_bounds, _with_word),
        (aim_text, with_bounds, _model),
        (aim_text, times, _model),
        (_brief, times, _model),
    )
    for aim, ratio, name in every:
        figures = [
            [f"  {aim(each)}", *map(_short, sides(each)), ratio(each.ratio), name(each)]
            for each in found.shipped
        ]
        above = f"ratio, {kind}" if ratio is with_bounds else "ratio"
        headings = ["", "threads", "processes", above, "to ship"]
        lines = aligned([headings, *figures], words={0, 3, 4}, gap="  ")
        if max(map(cell_len, lines)) <= width:
            break
    yield from lines
    yield from wrapped(_compared_text(found), width, 2)


def _with_word(each: Shipped) -> str:
    return f"{shipped_text(each)} ({each.reason})" if each.cell else NOT_DECIDED


def _brief(each: Shipped) -> str:
    return aim_text(each).removesuffix(" at the peak")


def _model(each: Shipped) -> str:
    return each.cell.model if each.cell else NOT_DECIDED


def _compared_text(found: AppAnswer) -> str:
    """`3.14t threads compared with the best processes: 3.14 forked (requests/s) and … (MiB).`."""
    over: dict[str, list[str]] = {}
    for each in found.shipped:
        over.setdefault(arm_and_model(each.ratio.over), []).append(aim_text(each).partition(" ")[0])
    several = [f"{name} ({', '.join(dict.fromkeys(aims))})" for name, aims in over.items()]
    names = formats.listed(several if len(over) > 1 else over)
    return f"{arm_and_model(found.shipped[0].ratio.of)} compared with the best processes: {names}."


def aligned(rows: Sequence[Sequence[str]], words: Container[int], gap: str = " ") -> list[str]:
    """Rows as lines: columns at the places of `words` stand to the left, others to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            f"{text:<{width}}" if place in words else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def factors_text(each: Factors) -> str:
    """`Throughput 1.2× = 0.92× (the build, one loop) · 1.3× (sharing one process, N = 2)`."""
    what = FACTOR_OF[each.whole.figure]
    whole, build, sharing = map(with_bounds, (each.whole, each.build, each.sharing))
    of, over = WORKERS[each.whole.of.model], WORKERS[each.whole.over.model]
    return (
        f"{what[0].upper()}{what[1:]} of {of} over {over} {whole} = build, one loop {build} "
        f"· sharing a process {sharing}"
    )


def figure_lines(found: AppAnswer, width: int, most: int) -> list[str]:
    """A table with a row for each configuration at N, those that are compared if there are too
    many; columns without a value are left out.
    """
    rows = list(found.at_n)
    if len(rows) > most - ABOVE:
        compared = _compared(found)
        rows = [*compared, *(each for each in rows if each not in compared)]
    rows = rows[: max(1, most - ABOVE)]
    more = len(found.at_n) - len(rows)
    columns = [
        [heading, *map(_short, values)]
        for heading, values in _columns(rows)
        if any(isinstance(value, int) or value.n for value in values)
    ]
    names = ["", *(_row_name(each, rows) for each in rows)]
    lines = aligned([*zip(names, *columns, strict=True)], words={0})
    while columns and max(map(cell_len, lines)) > width:  # the last ones say least
        columns.pop()
        lines = aligned([*zip(names, *columns, strict=True)], words={0})
    rate = f" at {formats.number(found.rate_per_s)}/s" if not math.isnan(found.rate_per_s) else ""
    left_over = f" ({more} more on the page)" if more else ""
    known = ", ".join(heading for heading, *_ in columns if heading in ("P50", "P99"))
    latency = f"; {known} in ms{rate}" if known else ""
    title = f"At the peak{latency}; MiB; start in s{left_over}:"
    return [*wrap(title, width), *lines]


def _row_name(each: Figures, rows: Sequence[Figures]) -> str:
    varying = [
        getattr(each, attribute)
        for attribute in ("loop", "server")
        if len({getattr(row, attribute) for row in rows}) > 1
    ]
    return " ".join([arm_and_model(each.cell), *varying])


def _columns(rows: Sequence[Figures]) -> Iterable[tuple[str, list[Estimate | int]]]:
    yield "req/s", [each.throughput_per_s for each in rows]
    yield "P50", [each.p50_ms for each in rows]
    yield "P99", [each.p99_ms for each in rows]
    yield "CPU ms", [each.cpu_ms_per_request for each in rows]
    yield "memory", [each.memory_mib for each in rows]
    yield "+worker", [each.extra_mib for each in rows]
    yield "start", [each.start_s for each in rows]
    if any(each.errors for each in rows):
        yield "errors", [each.errors for each in rows]
    yield "/core", [each.per_core for each in rows]
    yield "/GiB", [each.per_gib for each in rows]


def _short(value: Cell | int) -> str:
    """A figure without its bounds."""
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, Estimate):
        return str(value)
    return formats.number(value.point) if value.n else formats.BLANK
