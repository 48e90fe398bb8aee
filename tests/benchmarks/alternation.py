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
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from scaling.analysis.statistics.intervals import medians
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Record
from scaling.run.alternation import Member, in_turn
from scaling.run.child import Child, Ending, Run, observed, run_child
from scaling.run.load import Generator
from scaling.run.services import Services
from tests.benchmarks.bare_loop import WARMUP_S
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.serving import load_asked, program

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
TRIES = 3  # as a study measures a group again of which a run failed
TARGET = 0.5


class Block(NamedTuple):
    """The log ratio of threads to processes, that of their mean rate, and how long both took."""

    log_ratio: float
    log_rate: float
    took_s: float


def figures(effort: Effort) -> Iterator[Figure]:
    """Standard deviations of the log ratio at equal time, in turn over one after the other."""
    found = []
    for name, cell in CELLS.items():
        if effort.cells and name not in effort.cells:
            continue
        blocks: dict[bool, list[Block]] = {False: [], True: []}  # whether in turn
        for number in range(effort.pairs * BLOCKS_A_PAIR):
            for taking_turns in (False, True) if number % 2 else (True, False):
                blocks[taking_turns].append(block(cell, effort.window_s, in_turns=taking_turns))
        gain = _scatter(blocks[True]) / _scatter(blocks[False])
        if cell["workload"] not in FINITE:
            found.append(gain)
        ratios = {}
        for taking_turns, several in blocks.items():
            ratios[taking_turns] = [math.exp(each.log_ratio) for each in several]
            deviation = statistics.stdev(each.log_ratio for each in several)
            took_s = statistics.fmean(each.took_s for each in several)
            detail = f"SD of a block {deviation:.1%}, {took_s:.1f} s a block"
            way = "in turn" if taking_turns else "one by one"
            yield Figure(f"{name}, {way}", ratios[taking_turns], detail=detail)
        yield Figure(f"{name}: SD, in turn / not", [gain])
        pairs = zip(blocks[True], blocks[False], strict=True)
        rates = [math.exp(ours.log_rate - theirs.log_rate) for ours, theirs in pairs]
        yield Figure(f"{name}: rate, in turn / not", rates)
        yield Figure(f"{name}: the ratio is the same", [_agree(*ratios.values())], at_least=1.0)
    if found:
        mean = math.exp(statistics.fmean(map(math.log, found)))
        each = ", ".join(f"{ratio:.2f}" for ratio in found)
        yield Figure("SD at equal time, in turn / not", [mean], at_most=TARGET, detail=each)


def _scatter(blocks: Sequence[Block]) -> float:
    """The standard deviation of the log ratio, at equal time."""
    deviation = statistics.stdev(each.log_ratio for each in blocks)
    return deviation * math.sqrt(statistics.fmean(each.took_s for each in blocks))


def _agree(one: Sequence[float], other: Sequence[float]) -> float:
    """1 where the median of each lies in the interval of the other, which is a range of few."""
    (ours, theirs) = (medians(np.array(each)[:, np.newaxis]) for each in (one, other))
    is_inside = [
        (a.low <= b.point) & (b.point <= a.high) for a, b in ((ours, theirs), (theirs, ours))
    ]
    return float(np.all(is_inside))


def block(cell: Mapping[str, Any], window_s: float, *, in_turns: bool) -> Block:
    """Both models, alive together or one after the other."""
    began_s = time.monotonic()
    found = records([{**cell, "model": model} for model in MODELS], window_s, in_turns=in_turns)
    logs = np.log(throughputs(found))
    return Block(float(logs[0] - logs[1]), float(logs.mean()), time.monotonic() - began_s)


def records(
    cells: Sequence[Mapping[str, Any]], window_s: float, *, in_turns: bool, **variables: str
) -> list[Record]:
    """Those of runs of these cells, alive together or one after the other.

    A group of which a run fails is measured again, as in a study; if it fails again, the program
    ends.
    """

    def run(cell: Mapping[str, Any], services: ExitStack) -> Run:
        return _run(cell, window_s, services, in_slices=in_turns, variables=variables)

    def make(services: ExitStack) -> list[Callable[[Member[Any]], Coroutine[Any, Any, Ending]]]:
        return [partial(observed, run(cells[place], services)) for place in order]

    def alone(cell: Mapping[str, Any]) -> Ending:
        with ExitStack() as services:
            return run_child(run(cell, services))

    found: list[Ending] = []
    for _ in range(TRIES):
        order = random.sample(range(len(cells)), len(cells))  # who is first in a turn
        if in_turns:
            done, _seen = in_turn(make, window_s)
            found = [done[order.index(place)] for place in range(len(cells))]
        else:
            found = [alone(cell) for cell in cells]
        measured = [each.record for each in found if each.outcome == "measured" and each.record]
        if len(measured) == len(cells):
            return measured
    raise SystemExit("\n".join(f"{each.outcome}\n{each.stderr}" for each in found))


def _run(
    cell: Mapping[str, Any],
    window_s: float,
    services: ExitStack,
    *,
    in_slices: bool,
    variables: Mapping[str, str],
) -> Run:
    fixed = {"workers": 2, "warmup_s": WARMUP_S, "window_s": window_s, "ticks": 20}
    document = {**fixed, **cell, "alternating": in_slices}
    client = None
    if cell["workload"] in SERVED:
        document["in_flight"] = CONNECTIONS
        sent_by = program(PYTHON_GIL="1")
        client = Generator(sent_by, load_asked(CONNECTIONS), WARMUP_S, in_slices=in_slices)
    names, parameters = SERVICES.get(cell["workload"], ()), cell.get("parameters", {})
    beside = _services().during(names, parameters, in_slices=in_slices)
    usage = services.enter_context(beside)
    return Run(
        Child(sys.executable, environment(**variables)),
        document | {"services": usage.urls},
        LIMIT_S,
        services=usage,
        client=client,
    )


@cache
def _services() -> Services:
    """Those of all runs, which have copies of their own where they are alive together."""
    services = Services(sys.executable, environment(PYTHON_GIL="1"), workers=2)
    atexit.register(services.close)
    return services
