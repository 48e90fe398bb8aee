"""What more workers gain, and threads and interpreters over as many processes."""

from collections.abc import Iterator, Sequence

import numpy as np

from scaling.analysis.comparison import Compared, OverProcesses, break_even, break_evens
from scaling.analysis.ratios import Ratio
from scaling.base import formats
from scaling.base.vocabulary import MODELS, THREADS
from scaling.report.tables.findings import (
    HEADINGS,
    Finding,
    Question,
    arm_and_model,
    at_headline_n,
    contrast_grids,
    named,
    stacked,
    workers,
)
from scaling.report.tables.grid import Cell, Grid
from scaling.study.questions import (
    CPU,
    CPU_OF_ALL,
    IN_SERVER,
    MEMORY,
    OVER_PROCESSES,
    OVER_SERVER,
    OVER_SMALLEST_POOL,
    POOL,
    THROUGHPUT,
    shared_by,
)

# --------------------------------------------------------------------------------------------- gain
# What more workers gain: N workers over one, at the headline N.


def _gain_findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{workers(each.of)} over {workers(each.over)} on {each.of.arm}", each)
        for each in compared.headline_gains
    ]


GAIN = Question("curves", ("gain",), findings=_gain_findings)


# ---------------------------------------------------------------------------------------- processes

SHOWN = (THROUGHPUT, CPU, MEMORY)


def _processes_grids(compared: Compared) -> list[Grid]:
    found = compared.over_processes
    cells = {each.of for each in found}
    ratios = compared.ratios.where(
        OVER_PROCESSES, keep=lambda each: each.of in cells and each.asked_measure in SHOWN
    )
    has_both = any(len(each.memory) > 1 for each in found)
    note = (
        f"Memory is {compared.memory_kind}. Each ratio is over the processes that are best at it: "
        "the fastest, those that need the least CPU time, those that need the least memory"
        f"{' (fresh and forked ones apart)' if has_both else ''}."
    )
    return contrast_grids(
        "Over as many processes", ratios, ["ours", "over"], first=SHOWN, note=note
    )


def _processes_findings(compared: Compared) -> list[Finding]:
    """Of threads each arm; of other models the fastest arm, chosen by throughput, not by ratio."""
    at_n = [each for each in compared.over_processes if each.of.workers == compared.headline_n]
    threads = [each for each in at_n if each.of.model == THREADS]
    others = [each for each in at_n if each.of.model != THREADS]

    def speed(each: OverProcesses) -> float:
        return float(np.nanmedian(compared.of(each.of, THROUGHPUT)))

    chosen = [*threads, *([max(others, key=speed)] if others else [])]
    return [finding for each in chosen for finding in _of_one(each, _chosen(each, others))]


def _chosen(each: OverProcesses, others: list[OverProcesses]) -> str:
    """Why this arm of several is in the answer."""
    arms = list(dict.fromkeys(other.of.arm for other in others))
    if each not in others or len(arms) < 2:
        return ""
    return f"Of {each.of.model} on {formats.listed(arms)}, {each.of.arm} is the fastest."


def _of_one(each: OverProcesses, chosen: str) -> Iterator[Finding]:
    has_both = len(each.memory) > 1
    among = each.throughput.among
    others = [arm_and_model(one) if has_both else one.arm for one in among]
    better = f" (the better of {formats.listed(others)})" if len(others) > 1 else ""
    over = f"{named(each.throughput.over)}{better}"
    yield Finding(f"{named(each.of)} over {over}", each.throughput, chosen)
    costs = [("CPU time per operation", each.cpu)]
    costs += [(f"memory ({one.memory_kind})", one) for one in each.memory]
    for what, ratio in costs:
        if ratio is not None:
            theirs = f" over {named(ratio.over)}" if len(others) > 1 else ""
            yield Finding(f"… {what}{theirs}", ratio)


PROCESSES = Question("processes", (OVER_PROCESSES,), _processes_grids, _processes_findings)


# ------------------------------------------------------------------------------------------ servers
# What all threads share over as many processes that share a server: a cache, in a closed loop.

SERVERS_NOTE = "CPU time is that of all parts: workers, server, and database where there is one."


def _servers_grids(compared: Compared) -> list[Grid]:
    found = compared.ratios.where(OVER_SERVER)
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            f"{each.of.parameters[shared_by(each.of)]}\n{stacked(each.of)}",
            f"{IN_SERVER[shared_by(each.of)]}\n{stacked(each.over)}",
            each,
            found.same(each, CPU_OF_ALL) or _of_all(compared, each) or "",
        ]
        for each in found.where(measure=THROUGHPUT)
    ]
    title = "One cache for all threads over processes with a server"
    headings = ["N", "of", "over", HEADINGS[THROUGHPUT], HEADINGS[CPU]]
    return [Grid(title, headings, rows, 3, SERVERS_NOTE)] if rows else []


def _of_all(compared: Compared, ratio: Ratio) -> Ratio | None:
    """That of CPU time, where other processes need least of it than do most."""
    found = compared.ratios.where(OVER_SERVER, CPU_OF_ALL, lambda each: each.of == ratio.of)
    return next(iter(found), None)


def _servers_findings(compared: Compared) -> list[Finding]:
    every = list(compared.ratios.where(OVER_SERVER, CPU_OF_ALL))
    if not every:
        return []
    return [
        Finding(
            f"{each.of.parameters[shared_by(each.of)]} of {named(each.of)} over "
            f"{IN_SERVER[shared_by(each.of)]} with {named(each.over)}: CPU time of all parts",
            each,
        )
        for each in at_headline_n(every, compared.headline_n)
    ]


SERVERS = Question("processes", (OVER_SERVER,), _servers_grids, _servers_findings)


# -------------------------------------------------------------------------------------------- pools
# How many threads each loop's pool has, over the smallest size.


def _pools_grids(compared: Compared) -> list[Grid]:
    return contrast_grids(
        "Threads in the pool of each loop",
        compared.ratios.where(OVER_SMALLEST_POOL),
        ["of", "threads"],
        lambda each: (
            stacked(each.of),
            f"{each.of.parameters[POOL]} over {each.over.parameters[POOL]}",
        ),
        first=(),
    )


POOLS = Question("settings", (OVER_SMALLEST_POOL,), _pools_grids)


# ------------------------------------------------------------------------------------------- memory
# What an extra worker takes, by arm and model.


def _memory_grids(compared: Compared) -> list[Grid]:
    if compared.is_across_loops or not compared.compares:
        return []
    curves = [curve for curve in compared.curves if curve.slope.n]
    models = [model for model in MODELS if any(c.key.model == model for c in curves)]
    slopes = {(c.key.arm, c.key.model): c.slope for c in curves}
    rows: list[list[Cell]] = [
        [arm, *(slopes.get((arm, model), formats.BLANK) for model in models)]
        for arm in compared.arms
        if any((arm, model) in slopes for model in models)
    ]
    if not rows:
        return []
    return [Grid(f"MiB ({compared.memory_kind}) per extra worker", ["arm", *models], rows)]


EXTRA_WORKERS = Question("memory", grids=_memory_grids)


# --------------------------------------------------------------------------------------- break even
# From how many threads without the GIL on they beat the best single worker with it.


def _break_even_grids(compared: Compared) -> list[Grid]:
    return [_break_even_grid(each) for each in break_evens(compared)]


def _break_even_grid(ratios: Sequence[Ratio]) -> Grid:
    rows: list[list[Cell]] = [[str(each.of.workers), each] for each in ratios]
    first = ratios[0]
    single = f"{first.over.arm} ({first.over.model})"
    return Grid(f"Threads on {first.of.arm} over one worker on {single}", ["N", "throughput"], rows)


def _break_even_findings(compared: Compared) -> list[Finding]:
    return [_break_even_finding(each) for each in break_evens(compared)]


def _break_even_finding(ratios: Sequence[Ratio]) -> Finding:
    ratio = break_even(ratios) or ratios[-1]
    question = f"{named(ratio.of)} over {named(ratio.over)} (break-even)"
    return Finding(question, ratio, break_even_note(ratios))


def break_even_note(ratios: Sequence[Ratio]) -> str:
    """What is known of the N from which on threads are faster: it is not reached only where they
    are slower or the same at every N; an inconclusive N leaves it open.
    """
    last = ratios[-1].of.workers
    few = all(each.coverage is None for each in ratios)
    first = break_even(ratios)
    if first is None:
        undecided = [each.of.workers for each in ratios if not each.verdict.is_decided]
        if not undecided:
            return f"Break-even: not reached up to N = {last}."
        ns = "" if few else f" at N = {formats.listed(undecided)}"
        return f"Break-even: inconclusive up to N = {last}{ns and ', undecided'}{ns}."
    at = first.of.workers
    after = {each.of.workers: each.verdict.word for each in ratios if each.of.workers > at}
    by_word = {
        word: [n for n, each in after.items() if each == word]
        for word in ("slower", "same", "inconclusive")
    }
    besides = [f"at N = {formats.listed(ns)} {word}" for word, ns in by_word.items() if ns]
    return f"Break-even: {', '.join([f'at N = {at}', *besides])}."


BREAK_EVEN = Question("processes", ("break-even",), _break_even_grids, _break_even_findings)
