"""Where the scatter of runs comes from, in the published journals: what the presets follow from.

Of every windowed workload: by how much runs of a cell scatter, by how much means over 0.1, 0.5 and
1 s scatter inside a run, what a run costs beside its warm-up and window, and how the first 0.1 s of
a window compares with its second half. Then how the residuals of runs correlate by how many places
they are apart. Nothing is measured anew.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import NORMAL
from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import Cell, RunLine
from tests.benchmarks.figure import Effort, Figure
from tests.support.published import FOLDERS, name_of, read

STUDIES = ("xeon-2-cores/scale-pgo",)  # windows of 2 s in 20 parts
MEANS = {"0.1 s": 1, "0.5 s": 5, "1 s": 10}  # and over how many parts
LAGS = (1, 2, 5, 8, 16, 32)
CLIP = 0.3  # of a residual: one stalled run is no measure of how its neighbours were
FEWEST_RUNS = 6

type Runs = list[tuple[int, RunLine, Floats]]  # place in the journal, run, rates by part


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """A figure for each component and workload, with the medians of its cells."""
    del effort, free_threaded
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    residuals = []
    for folder in FOLDERS:
        if name_of(folder) in STUDIES:
            cells = _cells(folder)
            beside = read(folder).study.study
            beside_s = beside["window_s"] + beside["warmup_s"]
            for runs in cells.values():
                workload = runs[0][1].cell.workload
                for name, value in _components(runs, beside_s).items():
                    found[workload, name].append(value)
            residuals.append(_residuals(cells))
    for (workload, name), values in found.items():
        yield Figure(f"{workload}: {name}", values, "at least", None, detail="a value per cell")
    for lag in LAGS:
        values = [_correlation(each, lag) for each in residuals]
        yield Figure(f"correlation, {lag} runs apart", values, "at least", None)


def _cells(folder: Path) -> dict[Cell, Runs]:
    cells: dict[Cell, Runs] = defaultdict(list)
    for place, line in enumerate(read_lines(find_journal(folder), print)):
        if isinstance(line, RunLine) and line.outcome == "measured":
            rates = _rates(line)
            if len(rates) == 20 and (rates > 0).all():
                cells[line.cell].append((place, line, rates))
    return {key: runs for key, runs in cells.items() if len(runs) >= FEWEST_RUNS}


def _rates(line: RunLine) -> Floats:
    """Operations/s of all workers between two ticks, shape (parts,)."""
    every = [each.ticks for each in (line.record.workers if line.record else [])]
    rates = [np.diff(each.operations) / np.diff(each.time_ns) * 1e9 for each in every]
    return np.sum(rates, axis=0) if rates else np.empty(0)


def _components(runs: Runs, beside_s: float) -> Mapping[str, float]:
    """Standard deviations in %, seconds, and a ratio."""
    rates = np.array([each for _, _, each in runs])
    logs = np.log(rates.mean(axis=1))
    level = rates / rates.mean(axis=1, keepdims=True)
    found = {"a run, %": 100 * NORMAL * float(np.median(np.abs(logs - np.median(logs))))}
    for name, parts in MEANS.items():
        means = level.reshape(len(level), -1, parts).mean(axis=2)
        found[f"inside it, {name}, %"] = 100 * float(
            np.sqrt(np.mean(np.diff(means, axis=1) ** 2) / 2)
        )
    found["beside warm-up and window, s"] = float(
        np.median([(line.elapsed_s or np.nan) - beside_s for _, line, _ in runs])
    )
    found["first 0.1 s over second half"] = float(
        np.median(level[:, 0] / level[:, 10:].mean(axis=1))
    )
    return found


def _residuals(cells: Mapping[Cell, Runs]) -> dict[int, float]:
    """The log throughput of each run less the median of its cell, by its place in the journal."""
    found = {}
    for runs in cells.values():
        logs = np.log([rates.mean() for _, _, rates in runs])
        for (place, _, _), value in zip(runs, logs - np.median(logs), strict=True):
            found[place] = float(np.clip(value, -CLIP, CLIP))
    return found


def _correlation(residuals: Mapping[int, float], lag: int) -> float:
    pairs = [(value, residuals.get(place + lag)) for place, value in residuals.items()]
    products = [one * other for one, other in pairs if other is not None]
    return float(np.mean(products) / np.var(list(residuals.values())))
