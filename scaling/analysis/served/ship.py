"""Which configuration of an application to ship, and what makes threads differ from processes.

For each aim, N threads without the GIL are compared with the N processes that are best at it, fresh
or forked: if two are alike, noise decides which, so the comparison errs in favour of processes.
Throughput, memory and capacity have the verdicts that the tables show.

The ratio of N threads to N processes is the product of two factors, in every block:

    T(threads, N) / T(processes, N)  =  T(threads, 1) / T(processes, 1)      what the build costs
                                     ×  gain of the threads / gain of the processes

where T is throughput, and gain is that of N over one. The second factor is what sharing one process
costs at N: what N processes lose, the machine takes from both. CPU time per request has the same
factors.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.baseline import BaselineRatio
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.served.capacity import GIB_IN_MIB, Capacities
from scaling.analysis.served.latency_ratios import P99, LatencyRatio
from scaling.analysis.served.open_loop import Subject
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.verdict import (
    COST,
    RATE,
    Direction,
    RatioVerdict,
    hypothesis,
    judge,
)
from scaling.base.formats import number
from scaling.journal.record import StudyLine
from scaling.study.application import OF_WSGI, WORKLOAD
from scaling.study.load import RATE as RATE_PER_S
from scaling.study.load import middle
from scaling.study.rates import GRID

type Aim = Literal["throughput", "capacity", "memory", "latency"]

MS = 1_000.0
SERVER = "loops"  # this project's server on each loop, of which all models run the same code
PERCENTILES = {
    P99: "P99",
    "latency_p95_s": "P95",
    "latency_p90_s": "P90",
    "latency_p50_s": "P50",
}
THREADS_BETTER, PROCESSES_BETTER = ("faster", "less"), ("slower", "more", "same")


@dataclass(frozen=True, slots=True)
class Shipped:
    """What to ship for an aim: threads (`of`) compared with the best processes (`over`) at it.

    `measure` says what the ratio is of: `P99 at 400/s`.
    """

    aim: Aim
    measure: str
    of: Configuration
    over: Configuration
    ratio: RatioVerdict

    @property
    def configuration(self) -> Configuration | None:
        """The one to ship; None where that is not decided. Of two that are the same, processes:
        nothing has to be changed for these.
        """
        word = self.ratio.verdict.word
        if word in THREADS_BETTER:
            return self.of
        return self.over if word in PROCESSES_BETTER else None


@dataclass(frozen=True, slots=True)
class Factors:
    """N threads over N processes in one measure: `whole` is `build` times `sharing` in every block.

    `blocks` has the values of the single blocks, a row for each of these three.
    """

    measure: Measure
    of: Configuration
    over: Configuration
    whole: RatioVerdict
    build: RatioVerdict
    sharing: RatioVerdict
    blocks: Floats


@dataclass(frozen=True, slots=True)
class Figures:
    """One configuration of an application. Latencies are at the stated rate, the rest at the peak.

    `per_core` are requests/s per worker, each of which can have a core; `extra_mib` is what each
    extra worker adds.
    """

    configuration: Configuration
    loop: str
    server: str
    throughput_per_s: Estimate
    per_core: Estimate
    per_gib: Estimate
    p50_ms: Estimate
    p99_ms: Estimate
    cpu_ms_per_request: Estimate
    memory_mib: Estimate
    extra_mib: Estimate
    first_mib: float
    start_s: Estimate
    errors: int

    def fitting(self, memory_bytes: float) -> tuple[int, int] | None:
        """How many workers fit into so much memory, at least and at most; None where it is not
        known.

        Extrapolated with the interval (or range) of what an extra worker adds.
        """
        room_mib = memory_bytes / 2**20 - self.first_mib
        if math.isnan(room_mib) or not (self.extra_mib.n and self.extra_mib.low > 0):
            return None
        if room_mib < 0:
            return 0, 0
        few, many = (math.floor(room_mib / m) for m in (self.extra_mib.high, self.extra_mib.low))
        return 1 + few, 1 + many


@dataclass(frozen=True, slots=True)
class AppAnswer:
    """What is said of an application; empty lists where runs are missing.

    `rate_per_s` is the stated rate, that the latencies are at; NaN without one. `workers` is N: the
    largest with a core for each worker.
    """

    workers: int
    rate_per_s: float
    shipped: list[Shipped]
    factors: list[Factors]
    figures: list[Figures]

    @property
    def largest_n(self) -> int:
        """The largest N of any configuration."""
        return max(each.configuration.workers for each in self.figures)

    @property
    def at_n(self) -> list[Figures]:
        """Those of N workers."""
        return [each for each in self.figures if each.configuration.workers == self.workers]


def app_answer(
    judged: Sequence[Compared],
    latencies: Callable[[str], list[LatencyRatio]],
    capacities: Capacities,
    frame: pd.DataFrame,
    study: StudyLine,
) -> AppAnswer | None:
    """The answer of a study of `scaling app`; None where no run of the application is valid.

    `latencies` returns the ratios of a percentile, by its column. What is compared is on the first
    loop that the study names.
    """
    own = [each for each in judged if each.runs.curves[0].key.workload == WORKLOAD]
    peaks = [each for each in own if each.runs.section.rate_per_s is None and each.runs.loop]
    if not peaks:
        return None
    first_loop, *_ = study.study.get("loops") or [""]
    peaks.sort(
        key=lambda each: (server_of(each.runs.curves) != SERVER, each.runs.loop != first_loop)
    )
    peak = peaks[0]
    rates = sorted({each.runs.section.rate_per_s or 0.0 for each in own} - {0.0})
    stated = [each for each in rates if each in stated_rates(study)]
    rate = middle(stated or rates) if rates else math.nan
    n = peak.runs.headline_n
    over = next((e for e in peak.baseline_ratios if _is_headline(e, n)), None)
    shipped = [] if over is None else list(_at_peak(peak.runs, over))
    about = _About(peak.runs.loop, server_of(peak.runs.curves), n)
    shipped[1:1] = _capacity(capacities, about)
    shipped += _latency(latencies, rate, about)
    return AppAnswer(
        workers=n,
        rate_per_s=rate,
        shipped=shipped,
        factors=[] if over is None else factors(peak.runs, over.ours, over.theirs),
        figures=[figures for each in peaks for figures in _figures(each.runs, own, rate, frame)],
    )


def of_one_server(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs with N threads and N processes of one WSGI server under one name.

    Its threads and its processes are compared with each other.
    """
    texts = frame["parameters"].astype(str)
    named = {text: _of_one_server(text) for text in texts.unique()}
    if all(text == name for text, name in named.items()):
        return frame
    return frame.assign(parameters=texts.map(named).astype("category"))


def _of_one_server(text: str) -> str:
    parameters = json.loads(text)
    if parameters.get("server") not in OF_WSGI:
        return text
    return json.dumps({**parameters, "server": OF_WSGI[-1]}, sort_keys=True)


class _About(NamedTuple):
    """What an answer is about."""

    loop: str
    server: str
    workers: int

    def has(self, subject: Subject, of: Configuration) -> bool:
        """Whether a ratio is of N threads of it."""
        server = _server(subject.parameters)
        is_ours = (subject.loop, server, of.workers) == self
        return is_ours and of.model == "threads"


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


def server_of(curves: Sequence[Curve]) -> str:
    """What served the application in these runs."""
    return _server(curves[0].key.parameters)


def _server(parameters: str) -> str:
    return str(json.loads(parameters).get("server", SERVER))


def factors(runs: Paired, of: Configuration, over: Configuration) -> list[Factors]:
    """The factors of N threads over N processes, in throughput and in CPU time per request."""
    measures: dict[Measure, Direction] = {"throughput": RATE, "cpu_s_per_op": COST}
    tables = {measure: _factor_table(runs, of, over, measure) for measure in measures}
    known = {measure: table for measure, table in tables.items() if table.size}
    verdicts = iter(
        judge(
            [
                hypothesis(row, runs.margin(measure), measures[measure], "exploratory")
                for measure, table in known.items()
                for row in table
            ]
        )
    )
    return [
        Factors(measure, of, over, next(verdicts), next(verdicts), next(verdicts), table)
        for measure, table in known.items()
    ]


def _factor_table(runs: Paired, of: Configuration, over: Configuration, measure: Measure) -> Floats:
    """Whole, build and sharing (rows) of the blocks that have all four runs."""
    single = Configuration(of.arm, of.model, 1), Configuration(over.arm, over.model, 1)
    whole, build = runs.ratios(of, over, measure), runs.ratios(*single, measure)
    table = np.array([whole, build, whole / build])
    found: Floats = table[:, np.isfinite(table).all(axis=0)]
    return found


def _is_headline(each: BaselineRatio, n: int) -> bool:
    return each.ours.model == "threads" and each.workers == n


def _at_peak(runs: Paired, over: BaselineRatio) -> Iterator[Shipped]:
    yield Shipped("throughput", "throughput at the peak", over.ours, over.theirs, over.throughput)
    if over.memory:
        least = min(
            over.memory,
            key=lambda each: float(np.nanmedian(runs.of(each.over.theirs, each.over.kind))),
        )
        yield Shipped("memory", "memory", over.ours, least.over.theirs, least.ratio)


def _capacity(capacities: Capacities, about: _About) -> Iterator[Shipped]:
    for each in capacities.ratios:
        of = each.of.configuration
        if each.question == "over processes" and about.has(each.of.subject, of):
            measure = f"capacity at {each.of.objective.text}"
            yield Shipped("capacity", measure, of, each.over.configuration, each.ratio)


def _latency(
    latencies: Callable[[str], list[LatencyRatio]], rate: float, about: _About
) -> Iterator[Shipped]:
    """Of the highest percentile that runs have enough requests for."""
    for column, name in PERCENTILES.items():
        for each in latencies(column):
            if each.rate_per_s == rate and about.has(each.subject, each.of):
                measure = f"{name} at {number(rate)}/s"
                yield Shipped("latency", measure, each.of, each.over, each.ratio)
                return


def _figures(
    runs: Paired, own: Sequence[Compared], rate: float, frame: pd.DataFrame
) -> Iterator[Figures]:
    server = server_of(runs.curves)
    at_rate = [
        each.runs
        for each in own
        if each.runs.section.rate_per_s == rate
        and each.runs.loop == runs.loop
        and server_of(each.runs.curves) == server
    ]
    of_server = [_server(str(text)) == server for text in frame["parameters"]]
    is_ours = (frame["workload"] == WORKLOAD) & (frame["loop"] == runs.loop)
    of_loop = frame[is_ours & np.array(of_server, np.bool_)]
    for curve in runs.curves:
        first = next((each.memory.point for each in curve.points if each.workers == 1), math.nan)
        for point in curve.points:
            configuration = Configuration(curve.key.arm, curve.key.model, point.workers)
            loaded = at_rate[0].point(configuration) if at_rate else None
            mine = of_loop[
                (of_loop["arm"] == curve.key.arm)
                & (of_loop["model"] == curve.key.model)
                & (of_loop["workers"] == point.workers)
            ]
            throughput = runs.of(configuration, "throughput")
            memory: Measure = "PSS" if curve.memory_kind == "PSS" else "RSS"
            yield Figures(
                configuration=configuration,
                loop=runs.loop,
                server=server,
                throughput_per_s=point.throughput,
                per_core=point.throughput.scaled(1 / point.workers, "requests/s per core"),
                per_gib=median(
                    throughput / (runs.of(configuration, memory) / GIB_IN_MIB), "requests/s per GiB"
                ),
                p50_ms=_latency_ms(loaded, "latency_p50_s"),
                p99_ms=_latency_ms(loaded, P99),
                cpu_ms_per_request=runs.estimate(configuration, "cpu_s_per_op", "s").scaled(
                    MS, "ms"
                ),
                memory_mib=point.memory,
                extra_mib=curve.slope,
                first_mib=first,
                start_s=median(mine.loc[mine["valid"], "start_s"].to_numpy(np.float64), "s"),
                errors=int(mine["load_errors"].fillna(0).sum()),
            )


def _latency_ms(point: Point | None, column: str) -> Estimate:
    found = point.figures.get(column) if point else None
    return (found or median([], "s")).scaled(MS, "ms")
