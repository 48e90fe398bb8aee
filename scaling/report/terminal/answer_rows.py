"""The ratios of an answer as lines.

A study of several Ns has a line for each workload and loop: the gain of N workers over one, their
throughput over that of as many processes with its verdict, and what an extra worker of both takes.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from scaling.analysis.comparison import Compared, OverProcesses
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.served.full_stack import cpu_s, headline_n, in_order, stacks, with_all_parts
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.journal.record import Cell
from scaling.report.tables.findings import (
    Finding,
    bounds_heading,
    briefly,
    builds_of,
    fitting,
    with_bounds,
    worker_noun,
)
from scaling.report.tables.headline import counted, name_of, threads_over_processes
from scaling.report.tables.measures import in_ms
from scaling.report.tables.overview import DOT, apart
from scaling.study.questions import MEMORY

MOST_ROWS = 12
GAPS = 4  # characters between name, gain and what follows
SHORTEST_NAME, SHORTEST_VERDICT = 8, len("inconclusive")
REGIONS = {"smt": ", more workers than cores", "oversubscribed": ", more workers than CPUs"}


class Line(NamedTuple):
    """A line of the headline table, below the N that it is `at`.

    `gain` is None where cells have one N alone, `over` where no processes were measured; `judged`
    is the one that has room for its verdict. `memory` is what an extra worker of each side takes,
    MiB; there is none at an N that is not the headline one.
    """

    at: str
    name: str
    gain: Ratio | None
    over: OverProcesses | None
    memory: Sequence[Estimate]
    is_headline: bool

    @property
    def judged(self) -> Ratio:
        """The ratio over processes, without one the gain."""
        judged = self.over.throughput if self.over else self.gain
        assert judged is not None
        return judged


def headline_lines(found: Sequence[Compared], width: int) -> tuple[list[str], bool]:
    """The headline table, and whether it has the memory of extra workers: that needs room.

    It has the headline N of each curve, and their other Ns if all are few.
    """
    lines, left = _chosen(found)
    gains = [str(line.gain or formats.BLANK) for line in lines]
    ratios = [str(line.over.throughput) if line.over else "" for line in lines]
    gain_width, over_width = map(_widest, (gains, ratios))
    before = over_width + bool(over_width)  # the characters before a verdict
    room = width - gain_width - before - SHORTEST_VERDICT - GAPS
    reasons = _widest([briefly(line.judged) for line in lines]) - SHORTEST_VERDICT
    if not over_width and _widest([line.name for line in lines]) <= room - reasons:
        room -= reasons
    shared, names, memory = _names_and_memory(lines, room)
    memory_width = _widest(memory)
    name_width = min(max(SHORTEST_NAME, room), _widest(names))
    middle = max(0, width - name_width - gain_width - memory_width - GAPS)
    shown = [_title(found, lines), *([f"{shared}:"] if shared else [])]
    heads = _heads(found, lines, gain_width, middle + memory_width, has_memory=any(memory))
    rows = zip(lines, names, gains, ratios, memory, strict=True)
    for at, members in groupby(rows, key=lambda row: row[0].at):
        if heads and cell_len(at) > name_width:
            shown += [at, f"{'':<{name_width}}  {heads}"]
        else:
            shown.append(f"{at:<{name_width}}  {heads}".rstrip())
        heads = ""
        for line, name, gain, ratio, end in members:
            verdict = fitting(line.judged, middle - before * bool(ratio))
            text = f"{ratio:<{over_width}} {verdict}" if ratio else verdict
            start = f"{_fitted(name, name_width)}  {gain:<{gain_width}}  {text:<{middle}}"
            shown.append(f"{start}{end:>{memory_width}}".rstrip())
    shown += [f"and {formats.plural(len(left), 'more line')}: see the tables"] * bool(left)
    if over_width:
        notes = (_over_one(lines, left), f"{_of_memory(found)}." if any(memory) else "")
        shown += wrap(" ".join(filter(None, notes)), width)
    return shown, any(memory)


def _chosen(found: Sequence[Compared]) -> tuple[list[Line], list[Line]]:
    """The lines that are shown, and those of headline Ns that are left out."""
    lines = sorted(_lines(found), key=lambda line: not line.is_headline)
    if len(lines) + len({line.at for line in lines}) <= MOST_ROWS + 1:
        return lines, []
    headline = [line for line in lines if line.is_headline]
    most = MOST_ROWS - 2  # a line says how many are left out, and another may say what is shared
    return headline[:most], headline[most:]


def _names_and_memory(lines: Sequence[Line], room: int) -> tuple[str, list[str], list[str]]:
    """What all names share where there is little room, else nothing; the names; what extra workers
    take. All of the latter are empty where they have no room.
    """
    names = [line.name for line in lines]
    memory = _memory(lines, room - _widest(names))
    if any(memory) or _widest(names) <= room - _widest(_memory(lines, room)):
        return "", names, memory
    plain = [name.replace(DOT, " ") for name in names]
    if any(memory := _memory(lines, room - _widest(plain))):
        return "", plain, memory
    shared, names = _without_shared(names)
    if _widest(names) > room:
        shared, names = _values_alone(shared, names)
    return shared, names, _memory(lines, room - _widest(names))


def _memory(lines: Sequence[Line], room: int) -> list[str]:
    """A text for each line: of one side with its bounds where these have room, of both without."""
    sides = max(len(line.memory) for line in lines)
    whole = [f"  {line.memory[0]}" if line.memory else "" for line in lines]
    brief = [_briefest(lines, gap) for gap in ("  ", " ")]
    choices = [whole, *brief] if sides == 1 else brief
    known = any(each.n for line in lines for each in line.memory)
    return next((texts for texts in choices if known and _widest(texts) <= room), [""] * len(lines))


def _briefest(lines: Sequence[Line], gap: str) -> list[str]:
    """Both sides of each line with one decimal, which is enough beside each other."""
    numbers = [
        [formats.fixed(each.point, 1) if each.n else formats.BLANK for each in line.memory]
        for line in lines
    ]
    longest = max((len(text) for row in numbers for text in row), default=0)
    texts = ["  " * bool(row) + gap.join(f"{text:>{longest}}" for text in row) for row in numbers]
    return [f"{text:<{_widest(texts)}}" for text in texts]


def _widest(texts: Sequence[str]) -> int:
    return max(map(cell_len, texts))


def ratio_lines(
    found: Sequence[Finding], heading: str, width: int, above: Sequence[str] = ()
) -> Iterator[str]:
    """A line for each ratio below the heading, and what these have beside them.

    What all names share is not said again where it stands `above`.
    """
    ratios = _widest([with_bounds(each.ratio) for each in found])
    longest = max(SHORTEST_NAME, width - ratios - 6 - SHORTEST_VERDICT)
    shared, named = "", [Finding(each.name, each.ratio) for each in found]
    if _widest([each.question for each in named]) > longest:
        shared, named = _shortened(found)
    shown = _that_fit(named)
    names = min(longest, _widest([each.question for each in shown]))
    if shared and f"{shared}:" not in above:
        yield f"{shared}:"
    yield f"{heading} (ratio, {bounds_heading(each.ratio for each in shown)})"
    for label, several in groupby(shown, key=lambda each: each.label):
        if label:
            yield f" {label}"
        for each in several:
            line = f"  {_fitted(each.question, names)}  {with_bounds(each.ratio):<{ratios}}  "
            yield line + fitting(each.ratio, width - cell_len(line))
    if left := len(named) - len(shown):
        yield f"  and {formats.plural(left, 'more ratio')}: see the tables"


def _lines(found: Sequence[Compared]) -> Iterator[Line]:
    """Those with a gain, of the headline N first and then ascending; then those without."""
    gains = [
        (each, gain.of, gain, _over(each, gain), gain is top)
        for each in found
        for top in each.headline_gains
        for gain in _of(each, top)
    ]
    gains.sort(key=lambda one: 0 if one[-1] else one[1].workers)
    others = [
        (each, over.of, None, over, True)
        for each in found
        if not each.headline_gains
        for over in threads_over_processes(each)
    ]
    models, arms = _models_and_arms(found)
    for each, of, gain, over, is_headline in [*gains, *others]:
        varies = [of.arm] * (len(arms) > 1) + [of.model] * (len(models) > 1)
        point = each.point(of)
        beyond = REGIONS.get((point and point.region) or "", "")
        yield Line(
            f"N = {of.workers}{beyond}",
            DOT.join([name_of(each), *varies]),
            gain,
            over,
            _slopes(each, gain, over) if gain and is_headline else (),
            is_headline,
        )


def _over(each: Compared, gain: Ratio) -> OverProcesses | None:
    return next((one for one in each.over_processes if one.of == gain.of), None)


def _models_and_arms(found: Sequence[Compared]) -> tuple[set[str], set[str]]:
    """Those of all lines."""
    every = [
        ratio.of for each in found for ratio in each.headline_gains or threads_over_processes(each)
    ]
    return {of.model for of in every}, {of.arm for of in every}


def _of(each: Compared, top: Ratio) -> list[Ratio]:
    """All gains of the curve that has this one."""
    curve = top.of.but(workers=0)
    gains = each.ratios.where("gain")
    return [gain for gain in gains if gain.of.but(workers=0) == curve]


def _slopes(each: Compared, gain: Ratio, over: OverProcesses | None) -> list[Estimate]:
    """MiB of an extra worker, and of one of those processes that need the least memory."""
    best = _least_memory(each, over)
    slopes = {curve.key: curve.slope for curve in each.curves}
    return [slopes[side.but(workers=0)] for side in (gain.of, best) if side]


def _least_memory(each: Compared, over: OverProcesses | None) -> Cell | None:
    """The processes, fresh or forked, that need the least memory."""
    if over is None:
        return None
    return each.blocks.strongest([one.over for one in over.memory], MEMORY)


def _title(found: Sequence[Compared], lines: Sequence[Line]) -> str:
    """`Throughput of N threads on 3.14t (ratio, 95 % interval)`."""
    models, arms = _models_and_arms(found)
    workers = models.pop() if len(models) == 1 else "workers"
    on = f" on {arms.pop()}" if len(arms) == 1 else ""
    shown = bounds_heading(line.gain or line.judged for line in lines)
    return f"Throughput of N {workers}{on} (ratio, {shown})"


def _heads(
    found: Sequence[Compared],
    lines: Sequence[Line],
    gain_width: int,
    rest: int,
    *,
    has_memory: bool,
) -> str:
    """What stands above the ratios, and above the memory at the end of the `rest`."""
    theirs = [line.over.throughput.over for line in lines if line.over]
    over = f"over N processes on {builds_of(theirs)}" if theirs else ""
    memory = ("MiB" if theirs else _of_memory(found)) if has_memory else ""
    if cell_len(memory) > rest:
        memory = re.sub(r" \(.*?\)", "", memory)  # which kind of memory is in the tables
    return f"{'over one':<{gain_width}}  {over}{memory:>{max(0, rest - cell_len(over))}}"


def _over_one(lines: Sequence[Line], left: Sequence[Line]) -> str:
    """The verdicts of gains that are not shown: lines have room for one, and some are left out."""
    hidden = [*(line for line in lines if line.over), *left]
    gains = [line.gain for line in hidden if line.gain]
    return f"Over one: {counted(gains)}." if gains else ""


def _of_memory(found: Sequence[Compared]) -> str:
    """`MiB (PSS) per extra thread`, and `… and per extra process` where these have a column."""
    models = {gain.of.model for each in found for gain in each.headline_gains}
    best = [_least_memory(each, over) for each in found for over in threads_over_processes(each)]
    theirs = {worker_noun(of.model) for of in best if of}
    nouns = [worker_noun(models.pop()) if len(models) == 1 else "worker"]
    nouns += [theirs.pop() if len(theirs) == 1 else "process"] if theirs else []
    kind = found[0].memory_kind
    return f"MiB ({kind}) per extra {' and per extra '.join(nouns)}"


def _without_shared(names: Sequence[str]) -> tuple[str, list[str]]:
    """What all of several names have, and the names without it."""
    if len(names) == 1:
        return "", list(names)
    shared, rest = apart(names)
    own = zip(rest, names, strict=True)
    return shared, [parts.replace("\n", DOT) or name for parts, name in own]


def _values_alone(shared: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """The values of parameters without their names, which join what is shared, where all have the
    same ones: of a cut name too little would be left.
    """
    parts = [[part.partition("=") for part in name.split(DOT)] for name in names]
    given = [[name for name, is_given, _ in each if is_given] for each in parts]
    if not given[0] or any(each != given[0] for each in given):
        return shared, list(names)
    values = [DOT.join(value or name for name, _, value in each) for each in parts]
    return DOT.join(filter(None, [shared, formats.listed(given[0])])), values


def _shortened(found: Sequence[Finding]) -> tuple[str, list[Finding]]:
    """What all ratios are of, and the ratios without it; those of a label stand under it."""
    if len(labels := {each.label for each in found}) == 1 and found[0].label:
        return labels.pop(), [Finding(each.question, each.ratio) for each in found]
    shared, rest = _without_shared([each.label or each.question for each in found])
    named = [
        Finding(each.question.partition(" (")[0], each.ratio, label=own)
        if each.label
        else Finding(own, each.ratio)
        for own, each in zip(rest, found, strict=True)
    ]
    return shared, named


def _that_fit(named: Sequence[Finding]) -> list[Finding]:
    """The first of them, as many as fit with the labels that they stand under."""

    def lines(some: Sequence[Finding]) -> int:
        return len(some) + len({each.label for each in some if each.label})

    most = len(named)
    while most > 1 and lines(named[:most]) + (most < len(named)) > MOST_ROWS:
        most -= 1
    return list(named[:most])


def _fitted(name: str, room: int) -> str:
    """The name in so many characters; of a long one its beginning and its end."""
    if cell_len(name) <= room:
        return set_cell_size(name, room)
    head = room // 3
    tail = next(name[at:] for at in range(len(name)) if cell_len(name[at:]) < room - head)
    return set_cell_size(f"{set_cell_size(name, head)}…{tail}", room)


# --------------------------------------------------------------------------------------- stack rows
# The answer of a study of full stacks: their order by the CPU time of a request.

FIRST, LAST = 6, 2  # stacks, the least CPU time first
GAP = "  "


def stack_lines(results: StudyResults, width: int) -> Iterator[str]:
    """The first and the last of the stacks that have all parts; nothing for any other study.

    Where there is little room they have no throughput, or no interval either.
    """
    found = stacks(results.sections)
    workers = headline_n(found)
    order = in_order(with_all_parts(found), workers)
    if not order:
        return
    kind = bounds_kind(cpu_s(point) for _, point in order)
    beside = order[0][0].beside
    around = f", with {formats.listed(beside)}" if beside else ""
    heading = f"ms of CPU time of a request, N = {workers}{around}{f' ({kind})' if kind else ''}"
    yield from wrap(heading, width)
    shown = order if len(order) <= FIRST + LAST else [*order[:FIRST], *order[-LAST:]]
    names = [f"{stack.name} · {stack.configuration}" for stack, _ in shown]
    wide = max(map(len, names))
    costs = [in_ms(cpu_s(point)) for _, point in shown]
    intervals = [str(each) for each in costs]
    longest = max(map(len, intervals))
    rates = [f"  {formats.number(point.throughput.point)}/s" for _, point in shown]
    with_rates = [f"{text:<{longest}}{rate}" for text, rate in zip(intervals, rates, strict=True)]
    every = (with_rates, intervals, [formats.number(each.point) for each in costs])
    room = width - wide - len(GAP) * 2
    figures = next((each for each in every if max(map(len, each)) <= room), every[-1])
    for place, (name, figure) in enumerate(zip(names, figures, strict=True)):
        if place == FIRST and len(shown) < len(order):
            more = formats.plural(len(order) - len(shown), "more stack")
            yield f"{GAP}and {more}: see the tables"
        yield f"{GAP}{name:<{wide}}{GAP}{figure}"
