"""What `scaling run` ends with: the answer of a study, in at most 24 lines of 80 columns.

`scaling show --details` prints the full tables, and every curve as bars.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import wrap

from rich.text import Text

from scaling.analysis.comparison import Compared, OverProcesses
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.validity.served import LATE
from scaling.base import formats
from scaling.base.vocabulary import WORKERS
from scaling.report.plots.caption import load_text
from scaling.report.tables.findings import Finding, reasons_text, times, with_bounds, worker_noun
from scaling.report.tables.grid import WIDTH
from scaling.report.tables.headline import (
    NOTHING,
    headlines,
    name_of,
    other_ratios,
    threads_over_processes,
)
from scaling.report.tables.measures import MARKS, SUSPECT, curve_name
from scaling.report.tables.notes import (
    bound_text,
    bounds,
    collections_sentence,
    refused_sentence,
    spread_text,
    turns_text,
)
from scaling.report.tables.rates import has_open_loop, is_served, rated
from scaling.report.terminal.answer_rows import headline_lines, ratio_lines, stack_lines
from scaling.report.terminal.load_rows import BESIDE_RATIOS, MOST_ROWS, load_lines
from scaling.study.presets import DEFAULT_PRESET, FEWEST_FOR_INTERVAL

LINES = 24  # that every terminal has
MOST_BARS, MOST_MEMORY = 3, 3
MORE = "; more with --details"
LONGEST_IN_ANSWER = 40  # characters, in the answer
NO_LATENCY = "No latency: no valid run under load has requests enough for a percentile."
DOUBTFUL = ("void", "undecided")  # what the controls show comes before any figure
BUSY = "machine-busy"  # the reason of runs that other load disturbed


def next_command(results: StudyResults, folder: Path) -> str:
    """The command that is most worth typing now."""
    if results.soundness.status in DOUBTFUL:
        return "scaling doctor (finds what disturbs this machine)"
    if more := more_blocks(results):
        return more
    if len(results.study.arms) > 1:
        command = f"scaling explain {shlex.quote(str(folder))}"
        return f"{command} (what each further worker loses, and to what)"
    return "scaling run --study compare (what freed the speed; processes with the GIL)"


def more_blocks(results: StudyResults) -> str:
    """What to run for a verdict; empty where there are blocks enough for one."""
    if int(results.frame["block"].nunique()) >= FEWEST_FOR_INTERVAL:
        return ""
    needed = f"a verdict needs {FEWEST_FOR_INTERVAL} blocks"
    return f"the same with --preset {DEFAULT_PRESET} ({needed})"


def answer_lines(results: StudyResults, width: int = WIDTH, most: int = LINES) -> list[str]:
    """Ratios, memory, whether they can be trusted, a curve: in at most so many lines.

    What there is no room for is left to the tables.
    """
    found, others = headlines(results), other_ratios(results)
    lines = [f"THE ANSWER of {results.study.name}", *results.caveats]
    doubt = results.soundness.text if results.soundness.status in DOUBTFUL else ""
    lines += wrapped(doubt, width, 4)
    rows = BESIDE_RATIOS if found or others else MOST_ROWS
    of_stacks = list(stack_lines(results, width))
    if of_stacks:  # in place of ratios: it is their order that counts
        found, others = [], []
    lines += of_stacks
    has_memory = False
    if found:
        table, has_memory = headline_lines(found, width)
        lines += [*table, *_cpu_lines(found, width, table)]
    elif others:
        lines += ratio_lines(others, "Throughput", width)
    trust = [] if doubt else wrapped(results.soundness.text or "Controls hold.", width, 2)

    def room() -> int:
        return most - len(lines) - len(trust)

    trust += wrapped(few_cores(results), width, 2)
    trust += wrapped(left_out(results), width, max(1, min(3, room() - 2)))
    trust += wrapped(turns_text(results.ratios), width, max(1, min(2, room() - 1)))
    noise = fitting([spread_text(results)], width, min(2, room()))
    trust += noise or wrapped(spread_text(results, brief=True), width, 1)
    under_load = list(load_lines(results, width, room(), rows))
    lines += under_load
    if not (of_stacks or found or others or under_load):
        lines.append(NO_LATENCY if has_open_loop(results) else NOTHING)
    trust += wrapped(refused_sentence(results.study), width, min(1, room()))
    trust += wrapped(_collected(results), width, min(1, room()))
    trust += fitting([_loaded(results)], width, min(3, room()))
    memory: list[str] = []
    for texts in (_over_each_kind(found), [] if has_memory else _memory(found)):
        memory += fitting(texts, width, min(MOST_MEMORY, room() - len(memory)))
    first = next((each for each in found if each.headline_gains), None)
    curve = list(_curve(first, width)) if first else []
    curve = curve if len(curve) < room() - len(memory) else []
    return [*lines, *memory, *trust, *curve]


def fitting(texts: Iterable[str], width: int, most: int) -> list[str]:
    """The first of these texts that needs at most so many lines; nothing where none does."""
    every = (wrap(text, width, break_on_hyphens=False) for text in texts)
    return next((lines for lines in every if len(lines) <= most), [])


def wrapped(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines: of too long a one the first sentences, or of one sentence
    the first parts and `MORE`.

    No figure is cut off from its interval.
    """
    if most < 1:
        return []
    lines = wrap(text, width, break_on_hyphens=False)
    for mark, end in ((". ", "."), ("; ", MORE), (", ", MORE)):
        parts = text.split(mark)
        while len(lines) > most and len(parts) > 1:
            parts.pop()
            lines = wrap(mark.join(parts) + end, width, break_on_hyphens=False)
    return lines[:most]


def _cpu_lines(found: list[Compared], width: int, above: list[str]) -> list[str]:
    """What a request costs: of a server that shares the cores with its load, throughput says less.

    Empty where nothing was served. They stand below the lines `above`.
    """
    rows = [
        Finding(name_of(each), one.cpu)
        for each in found
        if is_served(each.section.curves[0].key, each.blocks.study)
        for one in threads_over_processes(each)
        if one.cpu is not None
    ]
    heading = "CPU time per request, N threads over N processes"
    return list(ratio_lines(rows, heading, width, above)) if rows else []


def _collected(results: StudyResults) -> str:
    """`No collections: 2 processes on 3.14.`; empty where the collector ran often enough."""
    every = (collections_sentence(each.section, results) for each in rated(results))
    return next(filter(None, every), "")


def _loaded(results: StudyResults) -> str:
    """`Load of serve: server tcp · 16 connections per worker …`: what all of its runs share."""
    served = [each for each in results.sections if is_served(each.curves[0].key, results.study)]
    if not served:
        return ""
    every = [load_text(each, results) for each in served]
    shared = [part for part in every[0] if all(part in parts for parts in every)]
    names = dict.fromkeys(each.curves[0].key.workload for each in served)
    return f"Load of {formats.listed(names)}: {', '.join(shared)}."


def few_cores(results: StudyResults) -> str:
    """`Shared cores: N workers gain at most ×1.4 at N = 2.`; empty where there are enough."""
    text = bound_text(bounds(results.frame, results.sections))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def left_out(results: StudyResults) -> str:
    """`Left out, invalid: 3 of 87 runs, crashed. Disturbed by other load: 5.`; empty for none.

    Also how many runs have latencies that are upper bounds.
    """
    reasons = Counter[str]()
    disturbed = late = 0
    for each in results.run_issues:
        if each.validity == "invalid":
            reasons[each.reasons] += each.runs
        else:
            disturbed += each.runs * (BUSY in each.reasons)
            late += each.runs * (LATE in each.reasons)
    runs = formats.plural(len(results.frame), "run")
    sentences = []
    if reasons:
        ((words, _),) = reasons.most_common(1)
        mostly = f"{'mostly: ' if len(reasons) > 1 else ''}{reasons_text(words)}"
        sentences.append(f"Left out, invalid: {reasons.total()} of {runs}, {mostly}.")
    if disturbed:
        sentences.append(f"Disturbed by other load, used: {disturbed} of {runs}.")
    if late:
        sentences.append(f"Latencies are upper bounds (load generator late): {late} of {runs}.")
    return " ".join(sentences)


def _memory(found: list[Compared]) -> list[str]:
    """`MiB (PSS) per extra thread: echo · asyncio 2.1 (2.0–2.2).`, and the same without bounds.

    Empty where it is not known.
    """
    curves = [
        (name_of(each), curve)
        for each in found
        for gain in each.headline_gains
        for curve in each.curves
        if curve.key == gain.of.but(workers=0) and curve.slope.n
    ]
    if not curves:
        return []
    nouns = " or ".join(dict.fromkeys(worker_noun(curve.key.model) for _, curve in curves))
    kinds = "/".join(dict.fromkeys(curve.memory_kind for _, curve in curves))
    every = [
        ", ".join(f"{name} {write(curve.slope)}" for name, curve in curves)
        for write in (str, lambda slope: formats.number(slope.point))
    ]
    return [f"MiB ({kinds}) per extra {nouns}: {amounts}." for amounts in every]


def _over_each_kind(found: list[Compared]) -> list[str]:
    """`Memory of threads over processes and over forked processes, N = 2: echo · asyncio 0.61×
    (0.60–0.62) and 1.2× (1.1–1.3).`, and the same without bounds.

    Empty where a study does not have both.
    """
    both = [
        (name_of(each), one)
        for each in found
        for one in threads_over_processes(each)
        if len(one.memory) > 1
    ]
    if not both:
        return []
    _, first = both[0]
    kinds = " and ".join(f"over {WORKERS[each.over.model]}" for each in first.memory)
    ns = formats.listed(dict.fromkeys(one.of.workers for _, one in both))
    about = f"Memory of {WORKERS[first.of.model]} {kinds}, N = {ns}"
    return [
        f"{about}: {', '.join(f'{name} {_amounts(one, write)}' for name, one in both)}."
        for write in (with_bounds, times)
    ]


def _amounts(of: OverProcesses, write: Callable[[RatioVerdict], str]) -> str:
    return " and ".join(write(each) for each in of.memory)


def _curve(compared: Compared, width: int) -> Iterator[str]:
    """Bars of the first curve that the answer is about; of many Ns the first, middle and last."""
    key = compared.headline_gains[0].of.but(workers=0)
    curve = next(one for one in compared.curves if one.key == key)
    section = compared.section
    yield f"{section.label}, {curve_name(curve)}: {section.operation}/s at each N"
    points = [point for point in curve.points if point.throughput.n]
    shown = [points[place] for place in _spread(len(points))]
    top = max(point.throughput.high for point in shown)
    numbers = max(len(formats.number(point.throughput.point)) for point in shown)
    length = max(1, min(LONGEST_IN_ANSWER, width - numbers - 8))
    for point in shown:
        number = formats.number(point.throughput.point)
        drawn = bar(point.throughput, top, length)
        yield f"{point.workers:>5} {drawn:<{length}} {number:>{numbers}}"


def _spread(count: int) -> list[int]:
    """Places of at most `MOST_BARS` things among `count`, evenly, the first and last included."""
    if count <= MOST_BARS:
        return list(range(count))
    return [round(place * (count - 1) / (MOST_BARS - 1)) for place in range(MOST_BARS)]


# --------------------------------------------------------------------------------------------- bars
# Throughput against N as bars of characters: the shape of a curve at one glance.
#
# The bars of a section have one scale, from 0 to its largest figure, so that all can be compared. A
# bar is full to the lower end of the range or interval and shaded to its upper end, with a stroke
# where the median is; an interval that is narrower than a character is not seen.

FULL, SHADED, MEDIAN, SLIVER = "█", "░", "┃", "▏"
LONGEST_IN_DETAILS, SHORTEST = 50, 8  # characters of a bar


def bars(results: StudyResults, width: int) -> Iterator[Text]:
    """The throughput of every curve of a study: a group of bars for each curve of each section."""
    for section in sorted(results.sections, key=lambda each: each.is_control):
        yield Text(f"{section.title} · {section.operation}/s against N", "bold")
        yield from _section(section, width)
        yield Text()


def _section(section: Section, width: int) -> Iterator[Text]:
    points = [point for curve in section.curves for point in curve.points]
    every = [point.throughput for point in points]
    numbers = max(len(_number(each)) for each in every)
    beside = max(len(each.bounds) for each in every)
    ns = max(len(str(point.workers)) for point in points)
    room = width - ns - numbers - beside - len("?*   ")
    length = max(SHORTEST, min(LONGEST_IN_DETAILS, room))
    top = max((each.high for each in every if each.n), default=0.0)
    for curve in section.curves:
        yield Text(curve_name(curve), "italic")
        for point in curve.points:
            marks = f"{SUSPECT if point.suspect else ''}{MARKS.get(point.region or '', '')}"
            yield Text.assemble(
                f"{point.workers:>{ns}}{marks:<2} ",
                f"{bar(point.throughput, top, length):<{length}}",
                f" {_number(point.throughput):>{numbers}} ",
                (point.throughput.bounds, "dim"),
                no_wrap=True,
                overflow="crop",
            )
    if kind := bounds_kind(every):
        yield Text(f"{MEDIAN} median; {SHADED} and beside it: {kind}", "dim")


def _number(value: Estimate) -> str:
    return formats.number(value.point)


def bar(value: Estimate, top: float, length: int) -> str:
    """The bar of an estimate, where `length` characters stand for `top`; empty without a value."""
    if not value.n or top <= 0:
        return ""
    low, middle, high = (
        round(max(0.0, each) / top * length) for each in (value.low, value.point, value.high)
    )
    if high == 0:
        return SLIVER if value.point > 0 else ""
    drawn = list(FULL * low + SHADED * (high - low))
    if high > low:
        drawn[min(middle, high - 1)] = MEDIAN
    return "".join(drawn)
