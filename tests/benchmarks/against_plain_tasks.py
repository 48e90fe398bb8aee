"""Do the workloads made of tasks cost what plain scripts cost, and scale as these do?

A script that does the same in as many threads, without the project, is the rival: at N = 1 in
throughput, at N = 2 in how far that is above its own N = 1. What such a script does not reach is
no fault of this project. `spawn` is also compared with it without the collector, which stops all
loops at once.
"""

import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from tests.benchmarks.against_bare_loop import SETTINGS, Rate
from tests.benchmarks.cells import run
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

TARGET = 0.97
# Where a machine of 2025 is for about a second, in whole batches and fan-outs.
AMOUNTS = {"sleep": 200_000, "spawn": 400_000, "cancel": 100_000, "gather": 400_000}
NAMES = {"sleep": "sleeps"}  # of the parameter that says how much; else "tasks"
STEP = 10_000
NO_WINDOW_S = 1.0  # finite work has none


class Case(NamedTuple):
    """A workload, and whether Python's collector is on."""

    workload: str
    collected: bool = True

    def __str__(self) -> str:
        return self.workload + ("" if self.collected else " without collector")


CASES = [*map(Case, AMOUNTS), Case("spawn", collected=False)]


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Ours over the script's, by rounds of fresh processes whose order alternates."""
    del free_threaded
    for case in CASES:
        rounds = [
            one_round(case, effort, forwards=number % 2 == 0) for number in range(effort.pairs)
        ]
        by_cpu = median(found["plain", 1].cpu_ns / found["ours", 1].cpu_ns for found in rounds)
        plain_per_s = median(found["plain", 1].per_s for found in rounds)
        yield Figure(
            f"{case}, N = 1 / plain",
            [found["ours", 1].per_s / found["plain", 1].per_s for found in rounds],
            "at least",
            TARGET,
            detail=f"by CPU time {by_cpu:.3f}; the latter: {plain_per_s:,.0f} a second",
        )
        gains = {
            whose: [found[whose, 2].per_s / found[whose, 1].per_s for found in rounds]
            for whose in RATES
        }
        yield Figure(
            f"{case}, N = 2 / N = 1, over plain's",
            [mine / its for mine, its in zip(*gains.values(), strict=True)],
            "at least",
            TARGET,
            detail=", ".join(f"{whose} {median(of):.2f}" for whose, of in gains.items()),
        )


def one_round(case: Case, effort: Effort, *, forwards: bool) -> dict[tuple[str, int], Rate]:
    """Ours and the script, in one thread and in two, each once."""
    amount = max(STEP, round(AMOUNTS[case.workload] * effort.window_s / STEP) * STEP)
    kinds = [(whose, threads) for threads in (1, 2) for whose in RATES]
    if not forwards:
        kinds.reverse()
    return {(whose, threads): RATES[whose](case, amount, threads) for whose, threads in kinds}


def ours(case: Case, amount: int, threads: int) -> Rate:
    """The workload in a child."""
    parameters = {NAMES.get(case.workload, "tasks"): amount}
    measured = run(
        case.workload,
        NO_WINDOW_S,
        settings=SETTINGS,
        workers=threads,
        parameters=parameters,
        gc=case.collected,
    )
    return Rate(measured.throughput_per_s, measured.cpu_ns_per_operation)


def plain(case: Case, amount: int, threads: int) -> Rate:
    """The script."""
    collector = "on" if case.collected else "off"
    arguments = [case.workload, str(amount), str(threads), collector]
    printed = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.plain_tasks", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment(**SETTINGS),
    ).stdout
    per_s, cpu_ns = map(float, printed.split())
    return Rate(per_s, cpu_ns)


RATES = {"ours": ours, "plain": plain}
