"""Does this driver measure what another one does, with no more scatter and in no more time?

The other one is that of a folder or a git revision (`--against`, HEAD by default). A block of each
workload is measured by it, by this driver, and by it again, in an order that turns round: how far
it is from itself is what this one may differ by. Each block is a study of its own, measured by
`scaling run`, so that any version can be compared. Two threads and two processes take turns.
"""

import itertools
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from scaling.analysis.statistics.intervals import medians
from scaling.analysis.table.ticks import throughputs
from scaling.journal.reading import read_lines
from scaling.journal.record import Instants, RunLine
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import ROOT, git

WORKLOADS = ("echo", "serve", "spawn", "scrape")
MODELS = ("threads", "processes")
ASKED = (
    *("--arm", "3.14t", "--loop", "asyncio", "--workers", "2", "--blocks", "1"),
    *("--no-controls", "--no-aa-pairs", "--model", ",".join(MODELS)),
)
THIS, OTHER, AGAIN = "this", "other", "other again"
MOST_LONGER = 1.02  # time between runs
LOOK_EVERY_S = 0.2
PATIENCE_S = 900.0  # for a block; it bounds a hang


class Block(NamedTuple):
    """By workload the log rates of threads and processes; and all seconds between groups."""

    log_rates: dict[str, list[float]]
    between_s: float


def figures(effort: Effort) -> Iterator[Figure]:
    """For each workload: the rate and the scatter of the ratio; then the time between runs."""
    with checkout(effort.against) as other, tempfile.TemporaryDirectory() as folder:
        places = {OTHER: other, THIS: ROOT, AGAIN: other}
        found: dict[str, list[Block]] = {name: [] for name in places}
        for number in range(effort.pairs):
            for name in [*places][:: -1 if number % 2 else 1]:
                to = Path(folder, f"{number} {name}")
                found[name].append(block(places[name], to, number, effort.window_s))
    for workload in WORKLOADS:
        yield from _of(workload, found)
    ours = [each.between_s for each in found[THIS]]
    theirs = [
        (one.between_s + two.between_s) / 2
        for one, two in zip(found[OTHER], found[AGAIN], strict=True)
    ]
    detail = f"medians {np.median(ours):.2f} and {np.median(theirs):.2f} s"
    ratios = [one / two for one, two in zip(ours, theirs, strict=True)]
    yield Figure("time between runs, this / other", ratios, at_most=MOST_LONGER, detail=detail)


def _of(workload: str, found: dict[str, list[Block]]) -> Iterator[Figure]:
    """Of one workload; arrays have the shape (blocks, models)."""
    logs = {
        name: np.array([each.log_rates[workload] for each in blocks])
        for name, blocks in found.items()
    }
    itself = (logs[AGAIN] - logs[OTHER]).mean(axis=1)
    ours = (logs[THIS] - (logs[OTHER] + logs[AGAIN]) / 2).mean(axis=1)
    band = medians(itself[:, np.newaxis])
    most = float(max(abs(band.low[0]), abs(band.high[0])))
    detail = f"the other one is from itself by up to {math.expm1(most):.1%}"
    yield Figure(f"{workload}: rate, other again / other", np.exp(itself).tolist())
    yield Figure(f"{workload}: rate, this / other", np.exp(ours).tolist())
    inside = float(abs(np.median(ours)) <= most)
    yield Figure(f"{workload}: no further than that", [inside], at_least=1.0, detail=detail)
    scatter = {name: float(np.diff(each).std(ddof=1)) for name, each in logs.items()}
    others = math.hypot(scatter[OTHER], scatter[AGAIN]) / math.sqrt(2)
    by_chance = math.sqrt(stats.f.ppf(0.95, len(ours) - 1, 2 * (len(ours) - 1)))
    yield Figure(
        f"{workload}: scatter, this / other",
        [scatter[THIS] / others],
        at_most=round(by_chance, 2),
        detail=f"SD of threads / processes {scatter[THIS]:.1%} and {others:.1%}; equal ones exceed "
        "the target in 5 of 100 cases",
    )


@contextmanager
def checkout(against: str) -> Iterator[Path]:
    """The folder of the other driver; of a git revision it is made, and removed afterwards."""
    if Path(against, "scaling").is_dir():
        yield Path(against).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "other")
        git("worktree", "add", "--detach", str(place), against, at=ROOT)
        try:
            yield place
        finally:
            git("worktree", "remove", "--force", str(place), at=ROOT)


def block(place: Path, to: Path, seed: int, window_s: float) -> Block:
    """Measure a block of all workloads with the driver in `place`.

    The command is ended once all is in its journal: its tables and plots take longer than that.
    """
    what = ("--workload", ",".join(WORKLOADS), "--seconds", str(window_s), "--seed", str(seed))
    command = [sys.executable, "-m", "scaling", "run", *ASKED, *what, "--output", str(to)]
    with to.with_suffix(".said").open("w+") as said:
        process = subprocess.Popen(command, cwd=place, stdout=said, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while len(_cells(lines := _runs(to))) < len(WORKLOADS) * len(MODELS):
                if process.poll() is not None or time.monotonic() > deadline:
                    said.seek(0)
                    raise SystemExit(f"no block was measured by {place}:\n{said.read()}")
                time.sleep(LOOK_EVERY_S)
        finally:
            process.terminate()
            process.wait()
    return _block(lines)


def _runs(folder: Path) -> list[RunLine]:
    journal = folder / "journal.jsonl"
    if not journal.exists() or journal.read_bytes().count(b'"kind":"run"') == 0:
        return []
    every = read_lines(journal, lambda _: None)
    return [line for line in every if isinstance(line, RunLine) and line.record]


def _cells(lines: Sequence[RunLine]) -> dict[tuple[str, str], int]:
    """Workload and model of each cell, with the place of its last run: one may be made again."""
    return {(line.cell.workload, line.cell.model): at for at, line in enumerate(lines)}


def _block(lines: Sequence[RunLine]) -> Block:
    logs = np.log(throughputs([line.record for line in lines])).tolist()
    found = {cell: logs[at] for cell, at in _cells(lines).items()}
    groups: dict[int, list[Instants]] = {}
    for line in lines:
        assert line.record
        place = line.position if line.group is None else line.group
        groups.setdefault(place, []).append(line.record.instants_ns)
    spans = sorted(
        (min(each.opened or 0 for each in group), max(each.closed or 0 for each in group))
        for group in groups.values()
    )
    between_ns = [opened - closed for (_, closed), (opened, _) in itertools.pairwise(spans)]
    log_rates = {each: [found[each, model] for model in MODELS] for each in WORKLOADS}
    return Block(log_rates, sum(between_ns) / 1e9)
