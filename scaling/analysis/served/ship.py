"""Which configuration of an application to ship, and what makes threads differ from processes.

For each aim, N threads without the GIL are compared with the N processes that are best at it, fresh
or forked, on any arm with the GIL: if two are alike, noise decides which, so the comparison errs in
favour of processes. Throughput, memory and capacity have the verdicts that the tables show.

The ratio of N threads to N processes is the product of two factors, in every block:

    T(threads, N) / T(processes, N)  =  T(threads, 1) / T(processes, 1)      what the build costs
                                     ×  gain of the threads / gain of the processes

where T is throughput, and gain is that of N over one. The second factor is what sharing one process
costs at N: what N processes lose, the machine takes from both. CPU time per request has the same
factors.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from scaling.analysis.blocks import Blocks
from scaling.analysis.comparison import Compared, OverProcesses
from scaling.analysis.curves import MIB, Point
from scaling.analysis.ratios import Ratio, Ratios, ratios
from scaling.analysis.served.capacity import GIB_IN_MIB, Capacity
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.noise import LATENCIES
from scaling.analysis.table.latency import PERCENTILES
from scaling.base.formats import number
from scaling.base.vocabulary import THREADS
from scaling.journal.record import Cell, Parameters, StudyLine
from scaling.study.application import WORKLOAD
from scaling.study.load import GRID, middle
from scaling.study.load import RATE as RATE_PER_S
from scaling.study.questions import (
    CAPACITY,
    CPU,
    MEMORY,
    OVER_PROCESSES,
    OVER_SMALLEST_POOL,
    P99,
    POOL,
    THROUGHPUT,
    Asked,
    every_ratio,
)

type Aim = Literal["throughput", "capacity", "memory", "latency"]

MS = 1_000.0
MANY_TIMES = 4  # as many workers as were measured: how memory grows
SERVER = "loops"  # this project's server on each loop, of which all models run the same code
BOTH = ("of", "over")  # sides of a ratio
OTHER_WRONG = "the other is wrong"
THREADS_BETTER, PROCESSES_BETTER = ("faster", "less"), ("slower", "more", "same")


@dataclass(frozen=True, slots=True)
class Shipped:
    """What to ship for an aim: threads (`of`) compared with the best processes (`over`) at it.

    `measure` says what the ratio is of: `P99 at 400/s`. `figures` are those of both sides, in
    requests/s, MiB or ms; `bounds` says of a capacity that lies outside the rates on which side. In
    `wrong_models` the check found wrong answers.
    """

    aim: Aim
    measure: str
    ratio: Ratio
    figures: tuple[Estimate, Estimate]
    bounds: tuple[str, str] = ("", "")
    wrong_models: Collection[str] = ()

    @property
    def cell(self) -> Cell | None:
        """The one to ship; None where that is not decided, or both answer wrongly. Of two that are
        the same, processes: nothing has to be changed for these.
        """
        right = self._right
        if len(right) < len(BOTH):
            return right[0] if right else None
        word = self.ratio.verdict.word
        if word in THREADS_BETTER:
            return self.ratio.of
        return self.ratio.over if word in PROCESSES_BETTER else None

    @property
    def reason(self) -> str:
        """Why it is that one: the verdict's word, or that the other is wrong."""
        return self.ratio.verdict.word if len(self._right) == len(BOTH) else OTHER_WRONG

    @property
    def _right(self) -> list[Cell]:
        both = (getattr(self.ratio, side) for side in BOTH)
        return [each for each in both if each.model not in self.wrong_models]


@dataclass(frozen=True, slots=True)
class Factors:
    """N threads over N processes in one measure: in every block `whole` is `build` × `sharing`."""

    whole: Ratio
    build: Ratio
    sharing: Ratio


@dataclass(frozen=True, slots=True)
class Figures:
    """One configuration of an application. Latencies are at the stated rate, the rest at the peak.

    `per_core` are requests/s per worker, each of which can have a core; `extra_mib` is what each
    extra worker adds, `idle_mib` the memory before any load.
    """

    cell: Cell
    server: str
    throughput_per_s: Estimate
    per_core: Estimate
    per_gib: Estimate
    p50_ms: Estimate
    p99_ms: Estimate
    cpu_ms_per_request: Estimate
    memory_mib: Estimate
    idle_mib: Estimate
    extra_mib: Estimate
    first_mib: float
    start_s: Estimate
    errors: int

    @property
    def loop(self) -> str:
        """The loop that it ran on."""
        return self.cell.loop

    def fitting(self, memory_bytes: float) -> tuple[int, int] | None:
        """How many workers fit into so much memory, at least and at most; None where it is not
        known.

        Extrapolated with the interval (or range) of what an extra worker adds.
        """
        room_mib = memory_bytes / MIB - self.first_mib
        if math.isnan(room_mib) or not (self.extra_mib.n and self.extra_mib.low > 0):
            return None
        if room_mib < 0:
            return 0, 0
        few, many = (math.floor(room_mib / m) for m in (self.extra_mib.high, self.extra_mib.low))
        return 1 + few, 1 + many


@dataclass(frozen=True, slots=True)
class CopiedOnWrite:
    """Memory of workers that were forked, PSS in MiB: they share pages until they write to them.

    `forked` has it before and after the load. So many `workers` take between `least_mib`, by what
    an extra worker added here, and `most_mib`: as many fresh processes, which share nothing.
    """

    forked: Figures
    workers: int
    least_mib: float
    most_mib: float


@dataclass(frozen=True, slots=True)
class AppAnswer:
    """What is said of an application; empty lists where runs are missing.

    `rate_per_s` is the stated rate, that the latencies are at; NaN without one. `workers` is N: the
    largest with a core for each worker. `pools` says for each aim how many threads each loop's pool
    should have (`best_pool`), by the ratio of a size over the smallest one: of the sizes proven to
    be better it has the best median, and where none is, the best of all.
    """

    workers: int
    rate_per_s: float
    shipped: list[Shipped]
    factors: list[Factors]
    figures: list[Figures]
    pools: dict[Aim, Ratio]

    @property
    def largest_n(self) -> int:
        """The largest N of any configuration."""
        return max(each.cell.workers for each in self.figures)

    @property
    def at_n(self) -> list[Figures]:
        """Those of N workers."""
        return [each for each in self.figures if each.cell.workers == self.workers]

    @property
    def copied_on_write(self) -> CopiedOnWrite | None:
        """That of the forked workers that do the most; None where there is no PSS of any."""
        forked = [
            each
            for each in self.at_n
            if each.cell.model == "forked" and each.idle_mib.n and each.extra_mib.n
        ]
        if not forked:
            return None
        best = max(forked, key=lambda each: each.throughput_per_s.point)
        alone = best.cell.but(model="processes", workers=1)
        fresh = next((each.memory_mib.point for each in self.figures if each.cell == alone), None)
        if fresh is None or math.isnan(fresh + best.first_mib):
            return None
        many = MANY_TIMES * self.workers
        least_mib = best.first_mib + (many - 1) * best.extra_mib.point
        return CopiedOnWrite(best, many, least_mib, many * fresh)


def app_answer(
    blocks: Blocks, every: Ratios, judged: Sequence[Compared], capacities: Sequence[Capacity]
) -> AppAnswer | None:
    """The answer of a study of `scaling app`; None where no run of the application is valid.

    `every` ratio of its blocks, the cells as they are `judged`, and the `capacities` are given.

    What is compared is on the first loop that the study names.
    """
    study = blocks.study
    own = [each for each in judged if each.group.first.workload == WORKLOAD]
    peaks = [each for each in own if each.section.rate_per_s is None and each.loop]
    if not peaks:
        return None
    first_loop, *_ = study.study.get("loops") or [""]
    peaks.sort(key=lambda each: (not is_own(each.group.first), each.loop != first_loop))
    peak = peaks[0]
    n = peak.headline_n
    rates = sorted({each.section.rate_per_s or 0.0 for each in own} - {0.0})
    stated = [each for each in rates if each in stated_rates(study)]
    rate = middle(stated or rates) if rates else math.nan
    pools = dict(_best_pools(every, rate, peak.loop, n))
    if pools:
        best = best_pool(next(iter(pools.values())))
        peak = next((each for each in peaks if _has_pool_of(each, best)), peak)
    peaks.sort(key=lambda each: each is not peak)
    over = next((each for each in peak.over_processes if _is_headline(each, n)), None)
    shipped = [] if over is None else list(_at_peak(peak, over))
    shipped[1:1] = _capacity(every, capacities, peak, n)
    shipped += _latency(every, own, rate, peak, n)
    return AppAnswer(
        workers=n,
        rate_per_s=rate,
        shipped=[replace(each, wrong_models=blocks.wrong_models) for each in shipped],
        factors=[] if over is None else factors(peak, over),
        figures=[figures for each in peaks for figures in _figures(each, own, rate, blocks.frame)],
        pools=pools,
    )


def best_pool(ratio: Ratio) -> Cell:
    """The one to ship of a pool's size and the smallest one: this, unless the other is proven to be
    better.
    """
    return ratio.of if ratio.verdict.word in THREADS_BETTER else ratio.over


def _has_pool_of(peak: Compared, best: Cell) -> bool:
    ours = peak.group.first
    return (ours.loop, ours.parameters) == (best.loop, best.parameters)


def _best_pools(every: Ratios, rate: float, loop: str, n: int) -> Iterator[tuple[Aim, Ratio]]:
    """For each aim, of N threads in one process."""
    aims: dict[Aim, str] = {"throughput": THROUGHPUT, "latency": P99, "memory": MEMORY}
    for aim, measure in aims.items():
        found = [
            each
            for each in every.where(OVER_SMALLEST_POOL)
            if each.asked_measure == measure
            and (each.of.loop, each.of.model, each.of.workers) == (loop, THREADS, n)
            and (measure != P99 or each.of.parameters.get(RATE_PER_S) == rate)
        ]
        if found:
            sign = -1 if measure == THROUGHPUT else 1
            proven = [each for each in found if each.verdict.word in THREADS_BETTER]
            yield aim, min(proven or found, key=lambda each: sign * each.point)


def _is_meant(of: Cell, peak: Compared, n: int) -> bool:
    """Whether a cell has N threads on the loop and the server of the peak."""
    ours = peak.loop, server_of(peak.group.first.parameters)
    return (of.model, of.workers) == (THREADS, n) and (of.loop, server_of(of.parameters)) == ours


def stated_rates(study: StudyLine) -> set[float]:
    """The rates in requests/s that the study names one by one, those of its grid left out."""
    known = {name: rate for each in study.calibrations for name, rate in each.rates.items()}
    named = {
        known.get(value, math.nan) if isinstance(value, str) else float(value)
        for entry in study.study.get("workloads") or ()
        for value in entry.get("parameters", {}).get(RATE_PER_S, ())
        if value != GRID
    }
    return {rate for rate in named if rate > 0}


def is_own(cell: Cell) -> bool:
    """Whether this project's server answered on each loop: the same code for all models."""
    return cell.parameters.get("server", SERVER) == SERVER


def server_of(parameters: Mapping[str, object]) -> str:
    """What serves the application; with the size of each loop's pool where that was asked for."""
    server, threads = str(parameters.get("server", SERVER)), parameters.get(POOL)
    return f"{server}, pool of {threads}" if threads else server


def factors(peak: Compared, ratio: OverProcesses) -> list[Factors]:
    """The factors of N threads over N processes, in throughput and in CPU time per request, each
    over the processes that are best at it, of the blocks that have all four runs.
    """
    asked = [
        factor
        for each in (ratio.throughput, ratio.cpu)
        if each is not None
        for factor in _factors(each)
    ]
    found = ratios(peak.blocks, asked, exploratory=True)
    return [
        Factors(*found.where(measure=measure))
        for measure in dict.fromkeys(each.measure for each in found)
    ]


def _factors(ratio: Ratio) -> Iterator[Asked]:
    of, over = ratio.of, ratio.over
    one, other = of.but(workers=1), over.but(workers=1)
    every = (of, over, one, other)
    yield Asked("factor", ratio.measure, of, (over,), along=every)
    yield Asked("factor", ratio.measure, one, (other,), along=every)
    yield Asked("factor", ratio.measure, of, (over,), along=every, apart_from=(one, other))


def _is_headline(each: OverProcesses, n: int) -> bool:
    return each.of.model == THREADS and each.of.workers == n


def _at_peak(peak: Compared, over: OverProcesses) -> Iterator[Shipped]:
    def figures(ratio: Ratio, unit: str) -> tuple[Estimate, Estimate]:
        values = (peak.of(each, ratio.measure) for each in (ratio.of, ratio.over))
        ours, theirs = (median(each, unit) for each in values)
        return ours, theirs

    at_peak = figures(over.throughput, "requests/s")
    yield Shipped("throughput", "throughput at the peak", over.throughput, at_peak)
    if over.memory:
        least = min(
            over.memory, key=lambda each: float(np.nanmedian(peak.of(each.over, each.measure)))
        )
        yield Shipped("memory", "memory", least, figures(least, "MiB"))


def _capacity(
    every: Ratios, capacities: Sequence[Capacity], peak: Compared, n: int
) -> Iterator[Shipped]:
    found = {(CAPACITY.format(each.objective.text), each.cell): each for each in capacities}
    for each in every.where(OVER_PROCESSES):
        if each.measure.startswith(CAPACITY.format("")) and _is_meant(each.of, peak, n):
            ours, theirs = (found[each.measure, side] for side in (each.of, each.over))
            estimates, bounds = (ours.estimate, theirs.estimate), (ours.bound, theirs.bound)
            yield Shipped("capacity", each.measure, each, estimates, bounds)


def _latency(
    every: Ratios, own: Sequence[Compared], rate: float, peak: Compared, n: int
) -> Iterator[Shipped]:
    """Of the highest percentile that runs have enough requests for."""
    at_rate = _at_rate(own, rate, peak)
    asked = [
        each
        for each in every_ratio(peak.blocks)
        if (each.question, each.measure) == (OVER_PROCESSES, P99)
    ]
    for column in LATENCIES:
        found = every.where(OVER_PROCESSES, P99)
        if column != P99:
            of_column = [replace(each, measure=column) for each in asked]
            found = ratios(peak.blocks, of_column, exploratory=True)
        for each in found:
            if each.of.parameters.get(RATE_PER_S) == rate and _is_meant(each.of, peak, n):
                ours, theirs = (
                    _latency_ms(at_rate.point(side) if at_rate else None, column)
                    for side in (each.of, each.over)
                )
                measure = f"{PERCENTILES[column]} at {number(rate)}/s"
                yield Shipped("latency", measure, each, (ours, theirs))
                return


def _at_rate(own: Sequence[Compared], rate: float, peak: Compared) -> Compared | None:
    """The cells on the loop and the server of the peak at that rate."""
    server = server_of(peak.group.first.parameters)
    found = (
        each
        for each in own
        if each.section.rate_per_s == rate
        and each.loop == peak.loop
        and server_of(each.group.first.parameters) == server
    )
    return next(found, None)


def _figures(
    peak: Compared, own: Sequence[Compared], rate: float, frame: pd.DataFrame
) -> Iterator[Figures]:
    server = server_of(peak.group.first.parameters)
    at_rate = _at_rate(own, rate, peak)
    texts = frame["parameters"].astype(str)
    of_server = {text: server_of(Parameters.read(text)) == server for text in texts.unique()}
    is_ours = (frame["workload"] == WORKLOAD) & (frame["loop"] == peak.loop)
    of_loop = frame[is_ours & texts.map(of_server).to_numpy(np.bool_)]
    for curve in peak.curves:
        alone = curve.at(1)
        for point in curve.points:
            cell = curve.key.but(workers=point.workers)
            loaded = None
            if at_rate:
                loaded = at_rate.point(cell.but(parameters=at_rate.group.first.parameters))
            mine = of_loop[
                (of_loop["arm"] == cell.arm)
                & (of_loop["model"] == cell.model)
                & (of_loop["workers"] == cell.workers)
            ]
            valid = mine[mine["valid"]]
            throughput, memory = peak.of(cell, THROUGHPUT), peak.of(cell, MEMORY)
            yield Figures(
                cell=cell,
                server=server,
                throughput_per_s=point.throughput,
                per_core=point.throughput.scaled(1 / point.workers, "requests/s per core"),
                per_gib=median(throughput / (memory / GIB_IN_MIB), "requests/s per GiB"),
                p50_ms=_latency_ms(loaded, "latency_p50_s"),
                p99_ms=_latency_ms(loaded, P99),
                cpu_ms_per_request=median(peak.of(cell, CPU), "s").scaled(MS, "ms"),
                memory_mib=point.memory,
                idle_mib=median(valid["idle_pss_bytes"] / MIB, "MiB"),
                extra_mib=curve.slope,
                first_mib=alone.memory.point if alone else math.nan,
                start_s=median(valid["start_s"], "s"),
                errors=int(mine["load_errors"].fillna(0).sum()),
            )


def _latency_ms(point: Point | None, column: str) -> Estimate:
    found = point.figures.get(column) if point else None
    return (found or median([], "s")).scaled(MS, "ms")
