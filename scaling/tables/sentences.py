"""The comparison in words: the verdict first, then the number, and no more than figures bear.

With fewer than six blocks there is a range, one can't tell, and the sentence says so.
"""

import math
from collections.abc import Iterable
from itertools import groupby

from scaling import wording
from scaling.analysis.across import Across, Change
from scaling.analysis.break_even import BreakEven
from scaling.analysis.comparison import Compared
from scaling.analysis.estimate import Estimate
from scaling.analysis.ladder import Ladder
from scaling.analysis.paired import Measure, Paired, Way
from scaling.analysis.rivals import Rivalry
from scaling.analysis.sections import Blemish
from scaling.analysis.verdict import Judged
from scaling.frame.validity import MARGIN

UNITS = {"threads": "thread", "processes": "process", "interpreters": "interpreter"}


def answers(compared: Compared) -> list[str]:
    """What a section says, the most asked first; each at the most telling N."""
    n = compared.runs.telling_n
    told = [freed(ladder) for ladder in compared.ladders if ladder.workers == n]
    rivalries = [rivalry for rivalry in compared.rivalries if rivalry.workers == n]
    told += [held_against(each) for each in rivalries if each.ours.model == "threads"]
    told += [even(each) for each in compared.break_evens]
    others = [each for each in rivalries if each.ours.model != "threads"]
    if others:  # the table has them all
        told.append(_fastest_of(others, compared.runs))
    return told


def _fastest_of(rivalries: list[Rivalry], runs: Paired) -> str:
    """Of interpreters on several arms the fastest, chosen by what they do and not by the ratio."""

    def speed(rivalry: Rivalry) -> float:
        return runs.estimate(rivalry.ours, "throughput", "").point

    fastest = max(rivalries, key=speed)
    told = held_against(fastest)
    arms = list(dict.fromkeys(rivalry.ours.arm for rivalry in rivalries))
    if len(arms) > 1:
        model, arm = fastest.ours.model, fastest.ours.arm
        told += f" Of {model} on {_listed(arms)}, those on {arm} are the fastest by median."
    return told


def freed(ladder: Ladder) -> str:
    """The headline and what it is made of."""
    top, bottom = ladder.top, ladder.bottom
    told = f"{opening(ladder.headline)}: {top.arm} with {workers(top)} does "
    told += f"{spoken(ladder.headline)} what {bottom.arm} does with as many"
    if len(ladder.steps) > 1:
        factors = [f"the {step.name} {besides(step.factor, '×')}" for step in ladder.steps]
        told += f"; of that {', '.join(factors)}"
    else:
        told += f"; what changes is the {ladder.steps[0].name}"
    told += "."
    if ladder.missing:
        told += f" {' and '.join(ladder.missing)} would tell them apart."
    if not ladder.multiplies_out:
        told += (
            f" The factors multiply to {wording.number(ladder.product)}, outside of that: "
            "they vary from block to block."
        )
    return told


def held_against(rivalry: Rivalry) -> str:
    """Threads (or interpreters) over processes: work, CPU time, memory."""
    ours, theirs = rivalry.ours, rivalry.theirs
    chosen = ""
    if len(rivalry.among) > 1:
        chosen = f" (the better of {' and '.join(way.arm for way in rivalry.among)})"
    told = f"{opening(rivalry.throughput)}: {doing(ours)} {spoken(rivalry.throughput)} what "
    told += f"{doing(theirs)}{chosen}"
    costs = [
        f"{noun}: {besides(value, ' times')}"
        for value, noun in (
            (rivalry.cpu_s_per_op, "CPU time per operation"),
            (rivalry.memory, f"memory ({rivalry.memory_kind})"),
        )
        if value.n
    ]
    return f"{'; '.join([told, *costs])}."


def even(found: BreakEven) -> str:
    """From how many threads on the free build beats the best single worker with the GIL."""
    last = max(found.ratios)
    single = f"the best single worker with the GIL ({found.single.arm}, {found.single.model})"
    if found.at is not None:
        threads = doing(Way(found.arm, "threads", found.at))
        told = f"Break-even at N = {found.at}: {threads} {spoken(found.ratios[found.at])} what "
        told += f"{single} does."
        after = {n: value.verdict.word for n, value in found.ratios.items() if n > found.at}
        for word in ("slower", "same"):
            if ns := [n for n, verdict in after.items() if verdict == word]:
                told += f" It does not hold at N = {_listed(ns)}, {word} again."
        if found.undecided:
            told += f" At N = {_listed(found.undecided)} one can't tell."
        return told
    if found.outcome == "never":
        return (
            f"Break-even: never up to N = {last}; {doing(Way(found.arm, 'threads', last))} "
            f"{spoken(found.ratios[last])} what {single} does."
        )
    free = f"threads on {found.arm}"
    few = [ratio for ratio in found.ratios.values() if ratio.coverage is None]
    if few:
        spread = wording.spread(few)
        told = f"Break-even: can't tell from {f'the {spread}' if spread else 'single runs'}"
        above = [n for n, ratio in found.ratios.items() if ratio.n > 1 and ratio.low > 1]
        lies = f", which lies above 1 at N = {_listed(above)}" if above else ""
        return f"{told}{lies}: {free} over {single}."
    return (
        f"Break-even: can't tell up to N = {last}; at N = {_listed(found.undecided)} "
        f"{free} may be slower or faster than {single}."
    )


def changed(found: Across) -> list[str]:
    """What must be known before two studies are set side by side."""
    told = []
    if found.is_backwards:
        began = [study.started_at for _, study in (found.then, found.now)]
        told.append(
            "What is called the earlier study was begun after the later one "
            f"({began[0]}, {began[1]}): name them the other way round."
        )
    if found.differences:
        told.append(f"Not the same in both: {'; '.join(found.differences)}.")
    told.append("Their runs were not made side by side: ratios are unpaired.")
    if found.changes:
        figures = [(c.then.throughput, c.now.throughput, c.throughput) for c in found.changes]
        told.append(basis([value for row in figures for value in row], "ratios unpaired"))
    alone = [
        f"{wording.plural(count, 'cell')} only in the {which}"
        for count, which in ((found.only_then, "earlier"), (found.only_now, "later"))
        if count
    ]
    if alone:
        told.append(f"Left out: {', '.join(alone)}.")
    for without, which in ((found.invalid_then, "earlier"), (found.invalid_now, "later")):
        if without:
            count = wording.plural(len(without), "cell")
            told.append(
                f"Left out, {count} without a valid run in the {which}: {'; '.join(without)}."
            )
    if cells := [change.name for change in found.changes if change.is_across_states]:
        state = "In another allocator state than then, which is in the ratio, too"
        told.append(f"{state}: {'; '.join(cells)}.")
    return told


def doubted(name: str, found: list[Blemish]) -> list[str]:
    """The runs of a study that are not simply valid: a sentence for each kind of fault."""

    def kind(blemish: Blemish) -> tuple[str, str]:
        return blemish.validity, blemish.reasons

    told = []
    for (validity, reasons), group in groupby(sorted(found, key=kind), key=kind):
        first, *others = group
        runs = wording.plural(first.runs + sum(each.runs for each in others), "run")
        more = f" and {wording.plural(len(others), 'more cell')}" if others else ""
        told.append(f"{name}: {runs} {validity} ({reasons}): {first.cell}{more}.")
    return told


def floors(compared: Compared) -> list[str]:
    """The margins that the verdicts heed and where they come from; nothing where there is none."""
    if all(ratio.value.coverage is None for ratio in compared.ratios):
        return []
    runs = compared.runs
    asked: dict[Measure, str] = {"throughput": "throughput"}
    if any(ratio.measure == "cpu_s_per_op" for ratio in compared.ratios):
        asked["cpu_s_per_op"] = "CPU time"
    if compared.rivalries:
        asked |= {each.memory_kind: f"memory ({each.memory_kind})" for each in compared.rivalries}
    margins = [f"{wording.percent(runs.margin(each))} in {noun}" for each, noun in asked.items()]
    known = not math.isnan(runs.floor.of(runs.curves[0].key.workload))
    why = f"no less than A/A twins came apart, nor than {wording.percent(MARGIN)}"
    why = why if known else "no A/A twins tell of the noise"
    return [f"Verdicts heed a margin of {_listed(margins)}: {why}."]


def floors_across(changes: Iterable[Change]) -> list[str]:
    """The margins of a section of two studies, which are those of the noisier one."""
    judged = [each for each in changes if each.throughput.coverage is not None]
    if not judged:
        return []
    first = judged[0]
    margins = [f"{wording.percent(first.throughput.verdict.margin)} in throughput"]
    if any(each.memory.n for each in judged):
        margins.append(f"{wording.percent(first.memory.verdict.margin)} in memory")
    why = f"{wording.percent(MARGIN)}, or as far as A/A twins of either study came apart"
    return [f"Verdicts heed a margin of {_listed(margins)}: {why}."]


def states(compared: Compared) -> list[str]:
    """The ratios of ways that ran in different allocator states."""
    pairs = [
        f"{named(of)} ({compared.state(of)}) over {named(over)} ({compared.state(over)})"
        for of, over in compared.across_states
    ]
    if not pairs:
        return []
    return [f"Across allocator states, which are in these ratios, too: {'; '.join(pairs)}."]


def opening(value: Judged) -> str:
    """The verdict as a sentence begins with it: `Faster`, `Can't tell (3 blocks)`."""
    verdict = value.verdict
    if verdict.word == "same":
        return f"Same within {wording.percent(verdict.margin)}"
    told = f"{verdict.word[0].upper()}{verdict.word[1:]}"
    few = value.coverage is None
    return f"{told} ({wording.plural(value.n, 'block')})" if few else told


def spoken(value: Estimate, unit: str = " times") -> str:
    """`1.93 times (1.90–1.96)`."""
    beside = wording.bounds(value)
    number = f"{wording.number(value.point)}{unit}"
    return f"{number} ({beside})" if beside else number


def besides(value: Judged, unit: str) -> str:
    """A further figure of a sentence: `faster, 1.93× (1.90–1.96)`.

    Where blocks are too few the sentence has begun with that, and it is not said again.
    """
    number = spoken(value, unit)
    return number if value.coverage is None else f"{value.verdict.word}, {number}"


def basis(values: list[Estimate], made: str = "ratios paired inside blocks") -> str:
    """What stands in brackets beside the figures of a section, and how its ratios were made."""
    spread = wording.spread(values)
    if not spread:
        return "Single runs: nothing is known of their spread."
    few = any(value.coverage is None for value in values if value.n)
    warning = ": too few for a verdict" if few else ""
    return f"In brackets the {spread}, {made}{warning}."


def doing(way: Way) -> str:
    """`1 thread on 3.14t does`, `2 processes on 3.14 do`."""
    return f"{workers(way)} on {way.arm} {'does' if way.workers == 1 else 'do'}"


def named(way: Way) -> str:
    """`2 threads on 3.14t`; across loops `2 threads on 3.14t with uvloop`."""
    return f"{workers(way)} on {way.arm}{f' with {way.loop}' if way.loop else ''}"


def workers(way: Way) -> str:
    """`1 thread`, `2 processes`."""
    noun = UNITS.get(way.model, "worker") if way.workers == 1 else way.model
    return f"{way.workers} {noun}"


def _listed(things: Iterable[object]) -> str:
    *others, last = map(str, things)
    return f"{', '.join(others)} and {last}" if others else last
