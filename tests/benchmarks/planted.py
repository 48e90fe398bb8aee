"""Losses that are planted: does `scaling explain` name each one?

Workloads of `tests/workloads` lose time at N = 2 in one known way each, and one runs on one CPU.
They are measured by `scaling run` as a user's own workloads are, on the free-threaded build. Other
programs on the machine take time from all of them: where there is a CPU for each worker, the run
queue is theirs, and has no rank.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from scaling.analysis.table.time_terms import RUN_QUEUE, TERMS
from scaling.analysis.tables.derived import LOSS
from scaling.analysis.tables.study import Study, read
from scaling.report.explain import largest_loss, lost, sentences
from scaling.study.presets import FEWEST_FOR_INTERVAL
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import ROOT

FOLDER = ROOT / "tests" / "workloads"
WINDOW_S = 1.0


class Planted(NamedTuple):
    """A workload, the terms of which one must be the largest, and why; N, and a CPU for all."""

    name: str
    expected: tuple[str, ...]
    why: str
    workers: int = 2
    on_one_cpu: bool = False


EVERY = (
    Planted("Private", ("nothing",), "nothing is planted"),
    Planted("Lock", ("blocked",), "a lock is waited for in a futex"),
    Planted("Attribute", ("user", "system", "blocked"), "its lock goes from core to core"),
    Planted("Collect", ("collector", "blocked"), "a collection stops the other workers"),
    Planted("Sleep", ("blocked",), "clock_nanosleep is no poll of the loop"),
    Planted("Private", ("run_queue",), "four threads take turns", workers=4, on_one_cpu=True),
    Planted("Unequal", ("imbalance",), "one worker is done at half the time"),
    Planted("Buffer", ("user", "system"), "a fresh buffer is copied, with page faults"),
)


def figures(effort: Effort) -> Iterator[Figure]:
    """1 where the largest loss is the one that was planted."""
    blocks = max(FEWEST_FOR_INTERVAL, effort.pairs - 2)
    with tempfile.TemporaryDirectory() as folder:
        for on_one_cpu in (False, True):
            some = [each for each in EVERY if each.on_one_cpu == on_one_cpu]
            study = _measured(some, blocks, Path(folder) / f"one-{on_one_cpu}")
            places = {each["workload"]: each["place"] for each in lost(study).to_dict("records")}
            for each in some:
                place = places[f"planted:{each.name}"]
                print("  ", " ".join(sentences(study, place)), file=sys.stderr)
                yield _figure(each, study, place)


def _figure(planted: Planted, study: Study, place: int) -> Figure:
    losses = {term: study.estimate(place, LOSS.format(term.name)) for term in TERMS}
    proven = [
        (row["point"], term)
        for term, row in losses.items()
        if row and row["low"] > 0 and (planted.on_one_cpu or term != RUN_QUEUE)
    ]
    is_named = largest_loss(study, place) is not None
    ranked = sorted(proven, key=lambda each: -each[0]) if is_named else []
    first = ranked[0][1].name if ranked else "nothing"
    shown = ", ".join(f"{term.name} {loss * 1e6:+,.0f} µs" for loss, term in ranked[:4])
    where = f"{planted.name}, N = {planted.workers}{' on one CPU' * planted.on_one_cpu}"
    expected = f"expected {' or '.join(planted.expected)}: {planted.why}"
    named = [float(first in planted.expected)]
    detail = f"{expected}; {shown or 'no loss is proven'}"
    return Figure(f"{where}: {first}", named, at_least=1.0, detail=detail)


def _measured(some: Collection[Planted], blocks: int, folder: Path) -> Study:
    """A study of these."""
    names = ",".join(f"planted:{each.name}" for each in some)
    ns = sorted({1, *(each.workers for each in some)})
    command = [
        *(sys.executable, "-m", "scaling", "run", "--arm", "3.14t", "--workload", names),
        *("--path", str(FOLDER), "--workers", ",".join(map(str, ns)), "--loop", "asyncio"),
        *("--model", "threads", "--blocks", str(blocks), "--seconds", str(WINDOW_S)),
        *("--no-controls", "--no-aa-pairs", "--output", str(folder)),
    ]
    if any(each.on_one_cpu for each in some):
        command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
    subprocess.run(command, check=True, stdout=sys.stderr, cwd=ROOT)
    return read(folder)
