"""The comparison in words: a sentence or two for each question, and no more than figures bear.

With fewer than six blocks there is a range and no verdict, and the sentence says so.
"""

from scaling import wording
from scaling.analysis.across import Across
from scaling.analysis.break_even import BreakEven, side
from scaling.analysis.comparison import Compared
from scaling.analysis.estimate import Estimate
from scaling.analysis.ladder import Ladder
from scaling.analysis.paired import Way
from scaling.analysis.rivals import Rivalry

UNITS = {"threads": "thread", "processes": "process", "interpreters": "interpreter"}


def verdicts(compared: Compared) -> list[str]:
    """What a section says, the most asked first; each at the most telling N."""
    n = compared.runs.telling_n
    told = [freed(ladder) for ladder in compared.ladders if ladder.workers == n]
    rivalries = [rivalry for rivalry in compared.rivalries if rivalry.workers == n]
    told += [held_against(each) for each in rivalries if each.ours.model == "threads"]
    told += [even(each) for each in compared.break_evens]
    others = [each for each in rivalries if each.ours.model != "threads"]
    if others:  # the table has them all
        told.append(held_against(max(others, key=lambda each: each.throughput.point)))
    return told


def freed(ladder: Ladder) -> str:
    """The headline and what it is made of."""
    top, bottom = ladder.top, ladder.bottom
    told = f"{top.arm} with {workers(top)} does {spoken(ladder.headline)} times what "
    told += f"{bottom.arm} does"
    if len(ladder.steps) > 1:
        factors = [f"the {step.name} {spoken(step.factor, '×')}" for step in ladder.steps]
        told += f"; of that {', '.join(factors)}"
    else:
        told += f", the {ladder.steps[0].name} together"
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
    told = f"{doing(ours)} {spoken(rivalry.throughput)} times what {doing(theirs)}{chosen}"
    besides = [
        f"{spoken(value)} times the {noun}"
        for value, noun in (
            (rivalry.cpu_s_per_op, "CPU time per operation"),
            (rivalry.memory, f"memory ({' over '.join(dict.fromkeys(rivalry.memory_kinds))})"),
        )
        if value.n
    ]
    return f"{told}, for {' and '.join(besides)}." if besides else f"{told}."


def even(found: BreakEven) -> str:
    """From how many threads on the free build beats the best single worker with the GIL."""
    last = max(found.ratios)
    single = f"the best single worker with the GIL ({found.single.arm}, {found.single.model})"
    if found.at is not None:
        ratio = found.ratios[found.at]
        range_only = "" if ratio.coverage else f" (by the {wording.spread([ratio])})"
        told = f"Break-even at N = {found.at}{range_only}: "
        threads = doing(Way(found.arm, "threads", found.at))
        told += f"{threads} {spoken(ratio)} times what {single} does."
        before = [n for n in found.undecided if n < found.at]
        after = [n for n, value in found.ratios.items() if n > found.at and side(value) <= 0]
        if before:
            told += f" At N = {_listed(before)} one can't tell."
        if after:
            told += f" It does not hold at N = {_listed(after)}."
        return told
    if found.outcome == "never":
        return (
            f"Break-even: never (up to N = {last}); threads on {found.arm} do "
            f"{spoken(found.ratios[last])} times what {single} does."
        )
    return (
        f"Break-even: can't tell up to N = {last}; at N = {_listed(found.undecided)} threads on "
        f"{found.arm} may be slower or faster than {single}."
    )


def changed(found: Across) -> list[str]:
    """What must be known before two studies are set side by side."""
    told = []
    if found.differences:
        told.append(f"Not the same in both: {'; '.join(found.differences)}.")
    told.append("Their runs were not made side by side: ratios are unpaired.")
    alone = [
        f"{wording.plural(count, 'cell')} only in the {which}"
        for count, which in ((found.only_then, "earlier"), (found.only_now, "later"))
        if count
    ]
    if alone:
        told.append(f"Left out: {', '.join(alone)}.")
    return told


def spoken(value: Estimate, unit: str = "") -> str:
    """`1.93 (1.90–1.96)`; that a factor cannot be told from 1 is told with it."""
    beside = wording.bounds(value)
    doubt = "can't tell from 1" if value.n > 1 and value.low <= 1 <= value.high else ""
    told = ", ".join(part for part in (beside, doubt) if part)
    number = f"{wording.number(value.point)}{unit}"
    return f"{number} ({told})" if told else number


def basis(values: list[Estimate]) -> str:
    """What stands in brackets beside the figures of a section."""
    spread = wording.spread(values)
    if not spread:
        return "Single runs: nothing is known of their spread."
    few = any(value.coverage is None for value in values if value.n)
    warning = ": too few for a verdict" if few else ""
    return f"In brackets the {spread}, ratios paired inside blocks{warning}."


def doing(way: Way) -> str:
    """`1 thread on 3.14t does`, `2 processes on 3.14 do`."""
    return f"{workers(way)} on {way.arm} {'does' if way.workers == 1 else 'do'}"


def workers(way: Way) -> str:
    """`1 thread`, `2 processes`."""
    noun = UNITS.get(way.model, "worker") if way.workers == 1 else way.model
    return f"{way.workers} {noun}"


def _listed(counts: list[int]) -> str:
    *others, last = map(str, counts)
    return f"{', '.join(others)} and {last}" if others else last
