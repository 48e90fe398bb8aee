"""Would finite work gain from turns, a whole round each?

Two threads over two processes, each a few rounds of the same work. In both ways a block does the
same: all rounds of the one, then all of the other; or one round of each in turn (ABBA …). Ways that
take different times are compared at equal time, as in `alternation`.
"""

import contextlib
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

# About 50 ms a round, at two workers on two cores of 2.5 GHz.
WORK: Mapping[str, Mapping[str, Any]] = {
    "spawn": {"tasks": 5_000},
    "gather": {"tasks": 5_000},
    "cancel": {"tasks": 2_000, "batch": 2_000},
}
MODELS = ("threads", "processes")
ROUNDS = 16
BLOCKS_A_PAIR = 2
GAIN = 0.6  # from which on it would be worth building


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Standard deviations of the log ratio at equal time, in turn over one after the other."""
    del free_threaded
    ways = {"one by one": one_by_one, "in turn": in_turn}
    for name, parameters in WORK.items():
        logs: dict[str, list[float]] = {way: [] for way in ways}
        took_s: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(effort.pairs * BLOCKS_A_PAIR):
            for way in list(ways)[:: 1 if number % 2 else -1]:
                began_s = time.monotonic()
                threads_s, processes_s = ways[way](name, parameters)
                logs[way].append(math.log(processes_s / threads_s))
                took_s[way].append(time.monotonic() - began_s)
        scatter = {
            way: statistics.stdev(logs[way]) * math.sqrt(statistics.fmean(took_s[way]))
            for way in ways
        }
        detail = "; ".join(
            f"{way}: {math.exp(statistics.median(logs[way])):.3f}, SD of a block "
            f"{statistics.stdev(logs[way]):.1%}, {statistics.fmean(took_s[way]):.1f} s a block"
            for way in ways
        )
        gain = scatter["in turn"] / scatter["one by one"]
        yield Figure(f"{name}: SD, in turn / not", [gain], "at most", GAIN, detail=detail)


class Cell:
    """Two workers of a model: a process with two loops, or two with one each."""

    def __init__(self, name: str, parameters: Mapping[str, Any], model: str) -> None:
        processes, loops = (1, 2) if model == "threads" else (2, 1)
        program = [sys.executable, "-m", "tests.benchmarks.rounds_program"]
        self._programs = [
            subprocess.Popen(
                [*program, name, json.dumps(parameters), str(loops)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            for _ in range(processes)
        ]
        self._answers()

    def _answers(self) -> int:
        return max(int(each.stdout.readline()) for each in self._programs if each.stdout)

    def round_s(self) -> float:
        """Do one; the time from its release to the last finish."""
        released_ns = time.monotonic_ns()
        for each in self._programs:
            assert each.stdin
            each.stdin.write("\n")
            each.stdin.flush()
        return (self._answers() - released_ns) / 1e9

    def close(self) -> None:
        """End it."""
        for each in self._programs:
            each.communicate()


def one_by_one(name: str, parameters: Mapping[str, Any]) -> Sequence[float]:
    """Seconds of each model's rounds together, one model after the other."""
    found = []
    for model in MODELS:
        with contextlib.closing(Cell(name, parameters, model)) as cell:
            found.append(sum(cell.round_s() for _ in range(ROUNDS)))
    return found


def in_turn(name: str, parameters: Mapping[str, Any]) -> Sequence[float]:
    """The same, a round of each in turn."""
    found = [0.0, 0.0]
    with contextlib.ExitStack() as until_the_end:
        cells = [
            until_the_end.enter_context(contextlib.closing(Cell(name, parameters, model)))
            for model in MODELS
        ]
        for number in range(ROUNDS):
            for place in (0, 1) if number % 2 else (1, 0):
                found[place] += cells[place].round_s()
    return found
