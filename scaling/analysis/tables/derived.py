"""Measures that are worked out from others: speed-up, efficiency, memory, and what is lost.

To add one, write a function of `Values`, of the shape of every measure, (blocks, cells), and
register it with `@derived`.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.column import Shown
from scaling.analysis.stacks import NS_PER_S
from scaling.analysis.statistics.intervals import medians
from scaling.analysis.table.groups import CURVE, SECTION
from scaling.analysis.table.time_terms import (
    IDLE,
    NOT_SEPARATE,
    OTHER_THREADS,
    TERMS,
    WHOLE,
    Term,
)
from scaling.analysis.tables.values import MIB, Derive, Derived, Estimator, Measure, Values
from scaling.base.models import PROCESSES
from scaling.builds.arms import version_arms
from scaling.builds.runtimes import RUNTIMES
from scaling.study.questions import MEMORY, THROUGHPUT

READINGS = {"PSS": "pss_bytes", "RSS": "rss_bytes"}  # of memory, by kind: columns of the runs
SPEEDUP, EFFICIENCY, EXTRA_WORKER = "speedup", "efficiency", "extra_worker_mib"

DERIVED: dict[str, Derived] = {}


def derived(name: str, shown: Shown, estimator: Estimator = "median") -> Callable[[Derive], Derive]:
    """Register a measure that is worked out from others."""

    def register(derive: Derive) -> Derive:
        DERIVED[name] = Derived(derive, shown, estimator)
        return derive

    return register


# --------------------------------------------------------------------------------- over one worker


@derived(SPEEDUP, Shown("speed-up", "speedup", 20))
def speedup(values: Values) -> Measure:
    """Throughput over that of one worker; none in an open loop, where it is the schedule's."""
    throughput = values[THROUGHPUT].value
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = throughput / values.at_one(throughput)
    is_known = np.isfinite(ratio) & (values.table["rate"] == 0).to_numpy()
    return Measure.exact(np.where(is_known, ratio, np.nan))


@derived(EFFICIENCY, Shown("efficiency", "efficiency", 30))
def efficiency(values: Values) -> Measure:
    """The speed-up of each worker."""
    return Measure.exact(values[SPEEDUP].value / values.table["workers"].to_numpy())


# ------------------------------------------------------------------------------------------ memory


def memory_kinds(values: Values) -> "pd.Series[str]":
    """The reading of memory of each cell: PSS; RSS in a section where a cell has no PSS.

    All that is compared is of one kind. RSS counts a page that processes share for each of them.
    """
    pss, rss = (np.isfinite(values.column(name)).any(axis=0) for name in READINGS.values())
    section = values.table.groupby(SECTION, observed=True, sort=False).ngroup()
    lacks = pd.Series(rss & ~pss).groupby(section).transform("any")
    return lacks.map({True: "RSS", False: "PSS"})


@derived(MEMORY, Shown("memory MiB", "memory_mib", 50))
def memory(values: Values) -> Measure:
    """MiB, of one kind in all cells of a section."""
    pss, rss = (values.column(name) for name in READINGS.values())
    return Measure.exact(np.where(memory_kinds(values) == "RSS", rss, pss) / MIB)


@derived(EXTRA_WORKER, Shown("MiB per extra worker", "mib_per_extra_worker"))
def extra_worker(values: Values) -> Measure:
    """MiB that each further worker adds: the least-squares slope of memory over N on the curve.

    It is over the Ns that have a CPU for each worker, where there are two of these: workers that
    wait for a CPU let garbage and buffers pile up, which is no cost of a worker.
    """
    table, held = values.table, values[MEMORY].value
    original = (~table["twin"] & ~table["rated"]).to_numpy()
    curve = table.groupby(CURVE, observed=True, sort=False).ngroup().to_numpy()
    inside = original & (table["region"] != "oversubscribed").to_numpy()
    fits = np.where(np.bincount(curve, inside)[curve] > 1, inside, original)
    known, workers = np.isfinite(held) & fits, table["workers"].to_numpy(np.float64)

    def on_curve(of_cells: Floats) -> Floats:
        """The sum over the cells of each cell's curve."""
        return np.asarray(pd.DataFrame(of_cells.T).groupby(curve).transform("sum").T)

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = on_curve(known * workers) / on_curve(known.astype(np.float64))
        aside = np.where(known, workers - mean, 0.0)
        slope = on_curve(aside * np.nan_to_num(held)) / on_curve(aside**2)
    return Measure.exact(np.where(original, slope, np.nan))


# ------------------------------------------------------------------------------------------ losses
# The growth of each term of the workers' time per operation from one worker to N
# (`scaling.analysis.table.time_terms`), in s, and the factor that it leaves of the efficiency.

LOSS, FACTOR = "{}_loss_s_per_op", "{}_factor"  # with the name of a term
LOSSES = {LOSS.format(term.name): term for term in (*TERMS, WHOLE, OTHER_THREADS)}
FACTORS = {FACTOR.format(term.name): term for term in (*TERMS, WHOLE)}
MACHINE, SHARING = "machine_loss_s_per_op", "sharing_loss_s_per_op"


def _both_known(values: Values) -> Flags:
    """Flags of readings for a cell and for that with one worker, shape (blocks, cells)."""
    whole = values.column(WHOLE.column)
    several = (values.table["workers"] > 1).to_numpy()
    return np.asarray((whole > 0) & (values.at_one(whole) > 0) & several)


def merged(values: Values) -> Flags:
    """The cells of which calls could not be sampled in some run, shape (cells,): their idle term
    has the terms in it that are not separable.
    """
    apart = [values.column(each.column) for each in NOT_SEPARATE]
    unknown = [np.isnan(each) | np.isnan(values.at_one(each)) for each in apart]
    return np.asarray((np.logical_or.reduce(unknown) & _both_known(values)).any(axis=0))


def _term(values: Values, term: Term) -> tuple[Floats, Floats]:
    """A term with one worker and with N, in s per operation."""
    own, is_merged = values.column(term.column), merged(values)
    one = values.at_one(own)
    if term is IDLE:
        together = own + sum(np.nan_to_num(values.column(each.column)) for each in NOT_SEPARATE)
        own = np.where(is_merged, together, own)
        one = np.where(is_merged, values.at_one(together), one)
    elif term in NOT_SEPARATE:
        own, one = (np.where(is_merged, np.nan, each) for each in (own, one))
    return one, own


def _loss(values: Values, term: Term) -> Measure:
    one, own = _term(values, term)
    return Measure.exact(np.where(_both_known(values), own - one, np.nan))


def _factor(values: Values, term: Term) -> Measure:
    both = zip(*(_term(values, each) for each in TERMS), strict=True)
    one, many = (np.nan_to_num(np.array(each)) for each in both)  # a merged term is idle's
    with np.errstate(divide="ignore", invalid="ignore"):
        every = log_factors(one, many)
    found = every.sum(axis=0) if term is WHOLE else every[TERMS.index(term)]
    is_merged = merged(values) & (term in NOT_SEPARATE)
    is_known = _both_known(values) & (values.table["rate"] == 0).to_numpy() & ~is_merged
    return Measure.exact(np.where(is_known, np.exp(found), np.nan))


def log_factors(at_one: Floats, at_n: Floats) -> Floats:
    """The logarithm of each term's factor, shape (terms, …).

    `at_one` and `at_n` are the terms at N = 1 and at N, of that shape, in s per operation. The
    efficiency is τ(1)/τ(N), and τ(N) - τ(1) is the sum of the terms' losses Δ. With the logarithmic
    mean L = (τ(N) - τ(1)) / ln(τ(N)/τ(1)) the factors exp(-Δ/L) multiply to it exactly and without
    an order: the additive form of the logarithmic mean Divisia index (B. W. Ang, Energy Policy 32
    (2004), 1131-1139).
    """
    return -(at_n - at_one) / _log_mean(at_one.sum(axis=0), at_n.sum(axis=0))


def _log_mean(one: Floats, other: Floats) -> Floats:
    """The logarithmic mean of positive values; of two that are equal it is their value."""
    growth = (other - one) / one
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(growth == 0, one, one * growth / np.log1p(growth))


def in_ns(name: str, words: str) -> Shown:
    """The heading, name and unit of a time per operation."""
    return Shown(f"{words} ns/op", f"{name}_ns_per_op", factor=NS_PER_S)


for name, term in LOSSES.items():
    shown = in_ns(f"{term.name}_loss", f"{term.words} lost")
    DERIVED[name] = Derived(partial(_loss, term=term), shown, "mean")
for name, term in FACTORS.items():
    shown = Shown(f"× {term.words}", name)
    DERIVED[name] = Derived(partial(_factor, term=term), shown, "geometric mean")


@derived(MACHINE, in_ns("machine_loss", "the machine's part"), "mean")
def machine_loss(values: Values) -> Measure:
    """The loss of as many processes in the same blocks: the machine's part of a cell's loss.

    On another arm an operation takes another time, so the loss of its processes is scaled: it stays
    the same share of the time with one worker.
    """
    whole = values.column(WHOLE.column)
    one, loss = values.at_one(whole), values[LOSS.format(WHOLE.name)].value
    found = np.full_like(whole, np.nan)
    arm = values.table["arm"].to_numpy()
    for place, processes in _beside(values):
        scale = 1.0 if arm[place] == arm[processes] else one[:, place] / one[:, processes]
        part = loss[:, processes] * scale
        found[:, place] = np.where(np.isfinite(loss[:, place]), part, np.nan)
    return Measure.exact(found)


@derived(SHARING, in_ns("sharing_loss", "sharing a process"), "mean")
def sharing_loss(values: Values) -> Measure:
    """The loss beyond the machine's part of workers that share a process."""
    return Measure.exact(values[LOSS.format(WHOLE.name)].value - values[MACHINE].value)


def _beside(values: Values) -> Iterable[tuple[int, int]]:
    """The place of each cell of several workers in one process, and of the processes that show the
    machine's part: those of the same arm, else the fastest that have the GIL, of any version.
    """
    table, loss = values.table, values[LOSS.format(WHOLE.name)].value
    known = np.isfinite(loss)
    speed = pd.Series(medians(values[THROUGHPUT].value).point, table.index)
    closed = table[~table["twin"] & ~table["rated"] & (table["rate"] == 0)]
    for _, group in closed.groupby([*SECTION, "loop", "workers"], observed=True, sort=False):
        are_processes = group["model"].isin(PROCESSES)
        ceiling = _fastest(group[are_processes], speed, list(dict.fromkeys(group["arm"])))
        for place in group.index[~are_processes & known.any(axis=0)[group.index]].tolist():
            own = group.index[are_processes & (group["arm"] == group.at[place, "arm"])]
            for processes in (*_first(speed[own]), *ceiling):
                if (known[:, place] & known[:, processes]).any():
                    yield place, processes
                    break


def _fastest(processes: pd.DataFrame, speed: "pd.Series[float]", arms: list[str]) -> list[int]:
    """The fastest processes of an arm with the GIL, else of any Python; at most one.

    Another runtime shows nothing: nobody can run their code on it.
    """
    with_gil = {arm for version in version_arms(arms) for arm in version.with_gil}
    for allowed in (processes["arm"].isin(with_gil), ~processes["arm"].isin(list(RUNTIMES))):
        if found := _first(speed[processes.index[allowed]]):
            return found
    return []


def _first(speed: "pd.Series[float]") -> list[int]:
    known = speed.dropna()
    return known.nlargest(1).index.tolist()
