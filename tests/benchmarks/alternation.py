"""By how much does a ratio scatter when its cells take turns, and when one run follows the other?

Two threads over two processes. Each block measures the ratio in both ways, in an order that turns
round. Ways that take different times are compared at equal time: the variance of a mean is that of
a block times the time that a block takes. Both ways must give the same ratio: the median of each
lies in the interval of the other. Whether a cell is slower after each stop shows in its rate.
"""

import atexit
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from scaling.analysis.statistics import estimate
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Record
from scaling.run.alternation import Member, in_turn
from scaling.run.child import Child, Ending, run_child
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.services import Services
from tests.benchmarks.bare_loop import WARMUP_S
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.serving import load_asked

CELLS: Mapping[str, Mapping[str, Any]] = {
    "echo on asyncio": {"workload": "echo", "loop": "asyncio"},
    "echo on uvloop": {"workload": "echo", "loop": "uvloop"},
    "stream": {"workload": "stream"},
    "serve, aiohttp": {"workload": "serve", "parameters": {"server": "aiohttp"}},
    "serve, FastAPI": {"workload": "serve", "parameters": {"server": "fastapi"}},
    "web": {"workload": "web", "parameters": {"rows": 10_000, "db_connections": 8}},
    "scrape": {"workload": "scrape"},
    "gather": {"workload": "gather", "parameters": {"tasks": 200_000}},
    "cancel": {"workload": "cancel", "parameters": {"tasks": 50_000, "batch": 1_000}},
}
FINITE = ("gather", "cancel")  # takes turns by rounds, and has no part in the mean
SERVED = ("serve", "web")
SERVICES = {"web": ("postgres",), "scrape": ("site",)}
CONNECTIONS = 32
LIMIT_S = 120.0
MODELS = ("threads", "processes")
BLOCKS_A_PAIR = 2
TARGET = 0.5


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Standard deviations of the log ratio at equal time, in turn over one after the other."""
    del free_threaded
    found = []
    for name, cell in CELLS.items():
        if effort.cells and name not in effort.cells:
            continue
        blocks = [
            {way: way_of(cell, effort.window_s) for way, way_of in order}
            for order in [tuple(WAYS.items()), tuple(reversed(WAYS.items()))]
            * (effort.pairs * BLOCKS_A_PAIR // 2)
        ]
        logs = {way: [block[way].log_ratio for block in blocks] for way in WAYS}
        took_s = {way: statistics.fmean(block[way].took_s for block in blocks) for way in WAYS}
        scatter = {way: statistics.stdev(logs[way]) * math.sqrt(took_s[way]) for way in WAYS}
        gain = scatter["in turn"] / scatter["one by one"]
        if cell["workload"] not in FINITE:
            found.append(gain)
        ratios = {way: [math.exp(each) for each in values] for way, values in logs.items()}
        for way, values in ratios.items():
            deviation = statistics.stdev(logs[way])
            detail = f"SD of a block {deviation:.1%}, {took_s[way]:.1f} s a block"
            yield Figure(f"{name}, {way}", values, "at least", None, "", detail)
        yield Figure(f"{name}: SD, in turn / not", [gain], "at most", None)
        rates = [
            math.exp(block["in turn"].log_rate - block["one by one"].log_rate) for block in blocks
        ]
        yield Figure(f"{name}: rate, in turn / not", rates, "at least", None)
        yield Figure(f"{name}: the ratio is the same", [_agree(*ratios.values())], "at least", 1.0)
    if not found:
        return
    mean = math.exp(statistics.fmean(map(math.log, found)))
    each = ", ".join(f"{ratio:.2f}" for ratio in found)
    yield Figure("SD at equal time, in turn / not", [mean], "at most", TARGET, detail=each)


def _agree(one: Sequence[float], other: Sequence[float]) -> float:
    """1 where the median of each lies in the interval of the other, which is a range of few."""
    ours, theirs = estimate.median(one, "×"), estimate.median(other, "×")
    return float(ours.low <= theirs.point <= ours.high and theirs.low <= ours.point <= theirs.high)


class Block(NamedTuple):
    """The records of both models, and how long they took."""

    records: Sequence[Record]
    took_s: float

    @property
    def log_ratio(self) -> float:
        """That of threads to processes."""
        threads, processes = throughputs(self.records)
        return math.log(threads / processes)

    @property
    def log_rate(self) -> float:
        """That of operations per second, on average over both."""
        return float(np.log(throughputs(self.records)).mean())


def one_by_one(cell: Mapping[str, Any], window_s: float) -> Block:
    """A block of two runs, one after the other."""
    began_s = time.monotonic()
    endings = [_run(cell, window_s, model) for model in MODELS]
    return Block(list(map(record_of, endings)), time.monotonic() - began_s)


def together(cell: Mapping[str, Any], window_s: float) -> Block:
    """The same, of runs in turn."""
    began_s = time.monotonic()
    jobs = [partial(_run, cell, window_s, model) for model in MODELS]
    endings, _ = in_turn(jobs, window_s, random.Random())
    return Block(list(map(record_of, endings)), time.monotonic() - began_s)


WAYS = {"one by one": one_by_one, "in turn": together}


def measured_in_turn(cell: Mapping[str, Any], window_s: float, turn: Member[Ending]) -> Ending:
    """A run of two threads in a group."""
    return _run(cell, window_s, "threads", turn)


def _run(
    cell: Mapping[str, Any], window_s: float, model: str, turn: Member[Ending] | None = None
) -> Ending:
    fixed = {"workers": 2, "warmup_s": WARMUP_S, "window_s": window_s, "ticks": 20}
    in_slices = turn is not None
    document = {**cell, **fixed, "model": model, "alternating": in_slices}
    beside = environment(PYTHON_GIL="1")
    generator = None
    if cell["workload"] in SERVED:
        document["in_flight"] = CONNECTIONS
        asked = load_asked(CONNECTIONS)
        program = GeneratorProgram(python=sys.executable, environment=beside)
        generator = Generator(program, asked, WARMUP_S, in_slices=in_slices)
    names, parameters = SERVICES.get(cell["workload"], ()), cell.get("parameters", {})
    with _services().during(names, parameters, in_slices=in_slices) as usage:
        return run_child(
            Child(sys.executable, environment()),
            document | {"services": usage.urls},
            limit_s=LIMIT_S,
            services_cpu_s=usage.cpu_s,
            generator=generator,
            watch=usage.watch,
            front=usage.front,
            turn=turn,
        )


@cache
def _services() -> Services:
    """Those of all runs, which have copies of their own where they are alive together."""
    services = Services(sys.executable, environment(PYTHON_GIL="1"), workers=2)
    atexit.register(services.close)
    return services


def record_of(ending: Ending) -> Record:
    """Of a run that was measured; ends the program if it was not."""
    if ending.outcome != "measured" or ending.record is None:
        raise SystemExit(f"{ending.outcome}\n{ending.stderr}")
    return ending.record
