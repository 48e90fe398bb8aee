"""How much narrower intervals are for the same time: short windows and the nested order.

The study `scale` is measured by two designs, for ten minutes each, in alternating slices: windows
of 2 s, a warm-up of 0.3 s and shuffled blocks as before, and what `smoke` does now. It takes some
22 minutes. Interrupted, the same command resumes: both journals are kept in the system's folder for
temporary files.
"""

import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.load import judge_of, read_journal
from scaling.journal.identity import choose
from scaling.journal.record import Cell, RunLine
from scaling.run.execute import Executor
from scaling.run.measure import ChildNeeds, generators_of, prepared, services_of
from scaling.run.progress import PlainLines
from scaling.run.session import drive
from scaling.run.time_left import Standing
from scaling.study.definition import Options
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun, one_block
from tests.benchmarks.figure import Effort, Figure
from tests.support.noise import AFTER, BEFORE, Design, gained

NETWORK = ("echo", "stream", "scrape")
BUDGET_S, QUICK_S = 600.0, 60.0
SLICES = 5
DESIGNS = {"before": BEFORE, "after": AFTER}
ARM = "3.14t"
SIMULATIONS = 40
STUDY = """
models = ["threads"]
loops = ["asyncio", "uvloop"]
workers = [1, 2, 4]
blocks = 1
window_s = {window_s}
warmup_s = {warmup_s}
controls = false
[[workloads]]
name = "compute"
loops = ["asyncio"]
[[workloads]]
name = "shared"
loops = ["asyncio"]
[[workloads]]
name = "echo"
[[workloads]]
name = "stream"
[[workloads]]
name = "scrape"
"""


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Half-widths after over before, simulated and measured; and whether the levels are the same.

    It needs the analysis once, and the free-threaded build for its children whichever runs it.
    """
    if free_threaded:
        return
    predicted = [gained(seed) for seed in range(SIMULATIONS)]
    yield Figure("half-widths, simulated", predicted, "at most", 0.6, detail="after over before")
    folder = Path(tempfile.gettempdir()) / "scaling-precision"
    budget_s = QUICK_S if effort.is_quick else BUDGET_S
    for number in range(1, SLICES + 1):
        turns = list(DESIGNS.items())
        for name, design in turns if number % 2 else reversed(turns):
            _measure(design, folder / name, budget_s * number / SLICES)
    after, before = (StudyResults.of(read_journal(folder / name)) for name in ("after", "before"))
    widths = {
        key: gain.relative_half_width / _same(before, key).relative_half_width
        for key, gain in ((_key(gain.of), gain) for gain in after.ratios.where("gain"))
        if key[0] in NETWORK
    }
    known = np.array([width for width in widths.values() if np.isfinite(width) and width > 0])
    mean = float(np.exp(np.log(known).mean())) if len(known) else float("nan")
    detail = f"geometric mean over {len(known)} ratios"
    yield Figure("half-widths, measured", [mean], "at most", 0.6, detail=detail)
    levels = [_level(after, key) / _level(before, key) for key in widths]
    yield Figure("throughput, after over before", levels, "at least", None)


type Key = tuple[str, str, int]


def _key(cell: Cell) -> Key:
    return cell.workload, cell.loop, cell.workers


def _same(results: StudyResults, key: Key) -> Estimate:
    return next(gain for gain in results.ratios.where("gain") if _key(gain.of) == key)


def _level(results: StudyResults, key: Key) -> float:
    workload, loop, workers = key
    return next(
        point.throughput.point
        for section in results.sections
        for curve in section.curves
        for point in curve.points
        if (curve.key.workload, curve.key.loop, point.workers) == (workload, loop, workers)
    )


def _in_order_of(plan: Plan, design: Design) -> Plan:
    class Ordered(Plan):
        def block(self, number: int) -> list[PlannedRun]:
            return list(one_block(self.every_cell, number, self.study.seed, levels=design.levels))

    return Ordered(**{field.name: getattr(plan, field.name) for field in fields(plan)})


def _measure(design: Design, output: Path, budget_s: float) -> None:
    """Add blocks to the journal in `output` until its runs have taken so long."""

    def standing(runs: Collection[RunLine], blocks: int) -> Standing:
        spent_s = sum(run.elapsed_s or 0.0 for run in runs)
        return Standing(spent_s >= budget_s, f"{output.name}: {blocks} blocks, {spent_s:.0f} s")

    output.mkdir(parents=True, exist_ok=True)
    study = output.with_suffix(".toml")
    study.write_text(
        STUDY.format(window_s=design.window_s, warmup_s=design.warmup_s), encoding="utf-8"
    )
    options = Options(study=str(study), arm=(ARM,))
    console = Console(file=sys.stderr)
    with prepared(options, ChildNeeds(), lambda line: print(line, file=sys.stderr)) as found:
        ready = replace(found, plan=_in_order_of(found.plan, design))
        first = ready.first_line()
        journal, _ = choose(output, first, lambda runs: False)
        with journal, services_of(ready) as services:
            execute = Executor(ready.plan, ready.arms, services, generators_of(ready, 1))
            drive(
                ready.plan,
                journal,
                lambda runs: [execute(run) for run in runs],  # none in turn
                judge_of(first),
                PlainLines(console),
                standing,
            )
