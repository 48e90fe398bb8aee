"""What each cell at N > 1 loses against N = 1 on the same curve, term by term.

Everything is paired inside blocks; a block counts where both runs are valid and have readings.
Losses are means over blocks, which add up; factors are geometric means, which multiply.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.comparison import Compared
from scaling.analysis.curves import Curve
from scaling.analysis.statistics.estimate import NO_VALUE, Estimate, geometric_means, means
from scaling.analysis.statistics.verdict import reach
from scaling.base.vocabulary import PROCESSES
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT

# -------------------------------------------------------------------------------------------- terms
# The terms that the workers' time per operation is made of.
#
# τ = N·T / n = user + system + collector + run queue + blocked + idle + imbalance + rest
#
# Each is a column of the frame, `user_s_per_op` (`scaling.analysis.table.time_terms`).


class Term(NamedTuple):
    """One term: its name in columns and JSON, its words in tables, and what a loss of it can be."""

    name: str
    words: str
    cause: str

    @property
    def column(self) -> str:
        """Its column in the frame, in s per operation."""
        return f"{self.name}_s_per_op"


USER = Term(
    "user",
    "user CPU",
    "more work per operation, or slower work: contended reference counts and caches, or a core "
    "that is slower while its neighbours work",
)
SYSTEM = Term(
    "system", "system CPU", "the kernel: page faults, sockets, or threads that spin on a lock"
)
COLLECTOR = Term("collector", "collector", "more garbage to collect, or more objects to visit")
RUN_QUEUE = Term(
    "run_queue",
    "run queue",
    "more threads are ready to run than there are CPUs; those of other programs count, too",
)
BLOCKED = Term(
    "blocked",
    "blocked",
    "a lock, a stop of all threads for a collection, the allocator (all futex); or a call that "
    "sleeps or reads a file",
)
IDLE = Term("idle", "idle", "too little work in flight for the loop, or a service that is slow")
IMBALANCE = Term("imbalance", "imbalance", "some workers had less work than others")
REST = Term("rest", "rest", "CPU time taken by the host, interrupts, or page faults that wait")

TERMS = (USER, SYSTEM, COLLECTOR, RUN_QUEUE, BLOCKED, IDLE, IMBALANCE, REST)
# Where calls could not be sampled, these three are not separable: `idle` is their sum.
NOT_SEPARATE = (BLOCKED, REST)
OTHER_THREADS = Term("other_threads", "other threads", "a thread pool; no part of the sum")
WHOLE = Term("worker", "all", "")
COLUMNS = tuple(term.column for term in (*TERMS, OTHER_THREADS))


# ------------------------------------------------------------------------------------------ factors
# An efficiency as a product of one factor for each term, exactly and without an order.
#
# The efficiency is τ(1)/τ(N), and τ(N) - τ(1) is the sum of the terms' losses Δ. With the
# logarithmic mean L = (τ(N) - τ(1)) / ln(τ(N)/τ(1)) the factors exp(-Δ/L) multiply to it: the
# additive form of the logarithmic mean Divisia index (B. W. Ang, Energy Policy 32 (2004),
# 1131-1139).


def log_factors(at_one: Floats, at_n: Floats) -> Floats:
    """The logarithm of each term's factor in each block, shape (blocks, terms).

    `at_one` and `at_n` are the terms at N = 1 and at N, of that shape, in s per operation. Each row
    sums to the logarithm of that block's efficiency.
    """
    one, many = at_one.sum(axis=1), at_n.sum(axis=1)
    return -(at_n - at_one) / _log_mean(one, many)[:, np.newaxis]


def _log_mean(one: Floats, other: Floats) -> Floats:
    """The logarithmic mean of positive values; of two that are equal it is their value."""
    growth = (other - one) / one
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(growth == 0, one, one * growth / np.log1p(growth))


# ------------------------------------------------------------------------------ losses of each cell


@dataclass(frozen=True, slots=True)
class Loss:
    """One term, in s of worker time per operation: at N = 1, at N, and the loss between them.

    The `factor` is what the term leaves of the efficiency (`scaling.analysis.losses`);
    it has no value in an open loop. Nor has any figure of a term that could not be measured.
    """

    term: Term
    at_one: Estimate
    at_n: Estimate
    loss: Estimate
    factor: Estimate


class Shared(NamedTuple):
    """A loss split in two, in s per operation: `machine` is what as many `processes` lose in the
    same blocks, `sharing` is what workers that share a process lose beyond it.

    On another arm an operation takes another time, so the loss of its processes is scaled: it
    stays the same share of the time at N = 1.
    """

    processes: Cell
    machine: Estimate
    sharing: Estimate


@dataclass(frozen=True, slots=True)
class Attribution:
    """One cell: where the time of its workers goes, over `blocks` in which N = 1 ran, too.

    `whole` is the sum of the `losses`; its factor is the efficiency. `largest` is the largest loss,
    None unless the cell misses its ideal by more than the `margin`. In an open loop
    (`is_rated`) throughput is the schedule's, so there is no ideal. Where calls could not be
    sampled, blocked, idle and the rest are `one_term`, idle; where they could, `waits` is the share
    of the samples at N by call. `other_threads` run no loop and are in no sum. Without blocks there
    are no figures, and `why` says why not.
    """

    runs: Compared
    of: Cell
    blocks: int
    margin: float
    is_rated: bool
    why: str = ""
    losses: tuple[Loss, ...] = ()
    whole: Loss | None = None
    other_threads: Loss | None = None
    one_term: bool = False
    waits: Mapping[str, float] = field(default_factory=dict)
    shared: Shared | None = None

    @property
    def workers(self) -> int:
        """N."""
        return self.of.workers

    @property
    def name(self) -> str:
        """The cell: workload, sizing, loop, arm, model and N."""
        return f"{self.runs.title} · {self.of.arm} · {self.of.model} · N = {self.workers}"

    @property
    def is_oversubscribed(self) -> bool:
        """Whether it has more workers than there are CPUs: most of its loss is their waiting."""
        point = self.runs.point(self.of)
        return point is not None and point.region == "oversubscribed"

    @property
    def misses(self) -> bool:
        """Whether its efficiency is below 1 by more than the margin: by the whole interval."""
        if self.whole is None or self.is_rated or self.whole.factor.coverage is None:
            return False
        return self.whole.factor.high < reach(self.margin)[0]

    @property
    def ranked(self) -> list[Loss]:
        """If the cell misses its ideal, the losses whose intervals are above 0, largest first."""
        found = [each for each in self.losses if each.loss.n and each.loss.low > 0]
        found.sort(key=lambda each: each.loss.point, reverse=True)
        return found if self.misses else []

    @property
    def largest(self) -> Loss | None:
        """The first of `ranked`."""
        return next(iter(self.ranked), None)


def attributions(every: Iterable[Compared]) -> list[Attribution]:
    """Each cell at N > 1, in the order of the sections; none of runs without any reading."""
    return [
        _attribution(runs, curve, n)
        for runs in every
        if any(np.isfinite(runs.blocks.of(cell, WHOLE.column)).any() for cell in runs.group.cells)
        for curve in runs.curves
        for n in curve.workers
        if n > 1
    ]


def _attribution(runs: Compared, curve: Curve, n: int) -> Attribution:
    of = curve.key.but(workers=n)
    is_rated = runs.section.rate_per_s is not None
    margin = runs.blocks.margin(THROUGHPUT).share
    known = _known(runs, of) & _known(runs, _one(of))
    if not known.any():
        return Attribution(runs, of, 0, margin, is_rated, _why(runs, of))
    one, many, one_term = _terms(runs, of, known)
    factors = [NO_VALUE] * (len(TERMS) + 1)
    if not is_rated:
        factors = geometric_means(_with_sum(log_factors(one, many)))
    *losses, whole = _losses((*TERMS, WHOLE), _with_sum(one), _with_sum(many), factors)
    if one_term:
        losses = [_unknown(each.term) if each.term in NOT_SEPARATE else each for each in losses]
    others = [_values(runs, each, OTHER_THREADS)[known, np.newaxis] for each in (_one(of), of)]
    (other_threads,) = _losses([OTHER_THREADS], others[0], others[1], [NO_VALUE])
    return Attribution(
        runs,
        of,
        int(known.sum()),
        margin,
        is_rated,
        losses=tuple(losses),
        whole=whole,
        other_threads=other_threads,
        one_term=one_term,
        waits=_waits(runs, of, known),
        shared=None if is_rated else _shared(runs, of, known),
    )


def _one(of: Cell) -> Cell:
    """The same with one worker."""
    return of.but(workers=1)


def _values(runs: Compared, of: Cell, term: Term) -> Floats:
    """One term of a configuration, shape (blocks,); NaN where it is not known."""
    return runs.blocks.of(of, term.column)


def _known(runs: Compared, of: Cell) -> Flags:
    """The blocks in which a configuration has readings."""
    return np.asarray(_values(runs, of, WHOLE) > 0)


def _terms(runs: Compared, of: Cell, known: Flags) -> tuple[Floats, Floats, bool]:
    """The terms at N = 1 and at N, shape (blocks, terms) each, and whether some are one.

    If the calls of any of these runs could not be sampled, idle has the other two in all of them.
    """
    tables = [
        np.column_stack([_values(runs, each, term)[known] for term in TERMS])
        for each in (_one(of), of)
    ]
    apart = [TERMS.index(term) for term in NOT_SEPARATE]
    one_term = any(np.isnan(table[:, apart]).any() for table in tables)
    for table in tables:
        if one_term:
            table[:, TERMS.index(IDLE)] += np.nansum(table[:, apart], axis=1)
            table[:, apart] = 0.0
    return tables[0], tables[1], one_term


def _waits(runs: Compared, of: Cell, known: Flags) -> dict[str, float]:
    """The mean share of each call that was seen, the most frequent first."""
    samples = [each for each, counts in zip(runs.blocks.waits(of), known, strict=True) if counts]
    names = dict.fromkeys(name for each in samples for name in each)
    shares = {name: float(np.mean([each.get(name, 0.0) for each in samples])) for name in names}
    ranked = sorted(shares, key=lambda name: shares[name], reverse=True)
    return {name: shares[name] for name in ranked if shares[name] > 0}


def _with_sum(table: Floats) -> Floats:
    """The table with the sum of its columns as a further one."""
    return np.column_stack([table, table.sum(axis=1)])


def _losses(
    terms: Sequence[Term], one: Floats, many: Floats, factors: Iterable[Estimate]
) -> list[Loss]:
    """The losses of some terms; the tables have a column for each."""
    figures = zip(means(one, "s"), means(many, "s"), means(many - one, "s"), factors, strict=True)
    return [Loss(term, *each) for term, each in zip(terms, figures, strict=True)]


def _unknown(term: Term) -> Loss:
    return Loss(term, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE)


def _shared(runs: Compared, of: Cell, known: Flags) -> Shared | None:
    """The machine's part: processes of the same arm, else the fastest ones with the GIL."""
    if of.model in PROCESSES:
        return None
    ours = [_values(runs, each, WHOLE) for each in (_one(of), of)]
    for processes in _processes(runs, of):
        theirs = [_values(runs, each, WHOLE) for each in (_one(processes), processes)]
        both = known & np.isfinite(theirs[0]) & np.isfinite(theirs[1])
        if both.any():
            scale = ours[0] / theirs[0] if processes.arm != of.arm else np.ones(len(both))
            machine = ((theirs[1] - theirs[0]) * scale)[both]
            loss = (ours[1] - ours[0])[both]
            return Shared(processes, *means(np.column_stack([machine, loss - machine]), "s"))
    return None


def _processes(runs: Compared, of: Cell) -> Iterator[Cell]:
    own = runs.blocks.strongest((of.but(model=model) for model in PROCESSES), THROUGHPUT)
    if own is not None:
        yield own
    yield from (each for each in runs.ceiling if each.workers == of.workers)


def _why(runs: Compared, of: Cell) -> str:
    """Why a cell has no figures."""
    for each in (_one(of), of):
        if not runs.measured([each]):
            return f"no valid run at N = {each.workers}"
        if not _known(runs, each).any():
            return f"its runs at N = {each.workers} have no readings of where the time goes"
    return f"no block has a valid run at N = 1 and at N = {of.workers}"
