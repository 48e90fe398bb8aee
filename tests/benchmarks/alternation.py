"""By how much does a ratio scatter when its cells take turns, and when one run follows the other?

Two threads over two processes. Each block measures the ratio in both ways, in an order that turns
round. Ways that take different times are compared at equal time: the variance of a mean is that of
a block times the time that a block takes.
"""

import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Record
from scaling.run.alternation import in_turn
from scaling.run.child import Child, Ending, Turn, run_child
from scaling.run.load import Generator, GeneratorProgram
from tests.benchmarks.bare_loop import WARMUP_S
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.serving import load_asked

CELLS: Mapping[str, Mapping[str, Any]] = {
    "echo on asyncio": {"workload": "echo", "loop": "asyncio"},
    "echo on uvloop": {"workload": "echo", "loop": "uvloop"},
    "stream on asyncio": {"workload": "stream", "loop": "asyncio"},
    "compute": {"workload": "compute", "loop": "asyncio"},
    "serve, tcp": {"workload": "serve", "parameters": {"server": "tcp"}},
    "serve, aiohttp": {"workload": "serve", "parameters": {"server": "aiohttp"}},
}
CONNECTIONS = 32
MODELS = ("threads", "processes")
BLOCKS_A_PAIR = 2
TARGET = 0.5


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Standard deviations of the log ratio at equal time, in turn over one after the other."""
    del free_threaded
    found = []
    for name, cell in CELLS.items():
        blocks = [
            {way: way_of(cell, effort.window_s) for way, way_of in order}
            for order in [tuple(WAYS.items()), tuple(reversed(WAYS.items()))]
            * (effort.pairs * BLOCKS_A_PAIR // 2)
        ]
        logs = {way: [block[way].log_ratio for block in blocks] for way in WAYS}
        took_s = {way: statistics.fmean(block[way].took_s for block in blocks) for way in WAYS}
        scatter = {way: statistics.stdev(logs[way]) * math.sqrt(took_s[way]) for way in WAYS}
        found.append(scatter["in turn"] / scatter["one by one"])
        for way, values in logs.items():
            deviation, each_s = statistics.stdev(values), took_s[way]
            detail = f"SD of a block {deviation:.1%}, {each_s:.1f} s a block"
            yield Figure(
                f"{name}, {way}", [math.exp(each) for each in values], "at least", None, "", detail
            )
    mean = math.exp(statistics.fmean(map(math.log, found)))
    each = ", ".join(f"{ratio:.2f}" for ratio in found)
    yield Figure("SD at equal time, in turn / not", [mean], "at most", TARGET, detail=each)


class Block(NamedTuple):
    """The records of both models, and how long they took."""

    records: Sequence[Record]
    took_s: float

    @property
    def log_ratio(self) -> float:
        """That of threads to processes."""
        threads, processes = throughputs(self.records)
        return math.log(threads / processes)


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


def measured_in_turn(cell: Mapping[str, Any], window_s: float, turn: Turn) -> Ending:
    """A run of two threads in a group."""
    return _run(cell, window_s, "threads", turn)


def _run(cell: Mapping[str, Any], window_s: float, model: str, turn: Turn | None = None) -> Ending:
    fixed = {"workers": 2, "warmup_s": WARMUP_S, "window_s": window_s, "ticks": 20}
    document = {**cell, **fixed, "model": model, "alternating": turn is not None}
    generator = None
    if cell["workload"] == "serve":
        document["in_flight"] = CONNECTIONS
        asked = load_asked(CONNECTIONS, warmup_s=WARMUP_S)
        beside = GeneratorProgram(python=sys.executable, environment=environment(PYTHON_GIL="1"))
        generator = Generator(beside, asked, in_slices=turn is not None)
    child = Child(sys.executable, environment())
    return run_child(child, document, generator=generator, turn=turn)


def record_of(ending: Ending) -> Record:
    """Of a run that was measured; ends the program if it was not."""
    if ending.outcome != "measured" or ending.record is None:
        raise SystemExit(f"{ending.outcome}\n{ending.stderr}")
    return ending.record
