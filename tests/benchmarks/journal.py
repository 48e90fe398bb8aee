"""How long does a journal of 100,000 runs take to become an answer, and a usual one a page?"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from scaling.journal.record import encode_line
from scaling.study import controls
from scaling.study.plan.order import Slot
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.runs import STARTED_AT, with_
from tests.support.studies import FakeStudy

BLOCKS, USUAL_BLOCKS = 200, 8  # of 500 cells: 100,000 runs
DIFFERENT = 8  # runs of a cell that are made; the others repeat them in other blocks
S_PER_BLOCK = 3600
WORKERS = (1, 2, 4)
ARMS = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")


def study(name: str, sizes: Sequence[int]) -> FakeStudy:
    """Echo with messages of these sizes."""
    return FakeStudy(
        name=name,
        variants={"echo": [{"payload_bytes": size} for size in sizes]},
        arms=ARMS,
        models=("threads", "processes"),
        loops=("asyncio", "uvloop"),
        workers=WORKERS,
    )


ECHO = study("large", [2**size for size in range(6, 16)])
USUAL = study("usual", [1024])
CONTROLS = FakeStudy(
    variants={name: [dict(parameters)] for name, parameters in controls.CONTROLS.items()},
    arms=ARMS,
    workers=(1, 2),
)


class Used(NamedTuple):
    """What a process used: seconds, CPU seconds, and its peak memory."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def figures(effort: Effort) -> Iterator[Figure]:
    """Seconds and MiB of fresh processes of `scaling`, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        large, usual = Path(folder) / "large.jsonl", Path(folder) / "usual.jsonl"
        fabricate(large, [*ECHO.slots, *CONTROLS.slots, *twins(4)], BLOCKS)
        fabricate(usual, [*USUAL.slots, *CONTROLS.slots, *twins(1)], USUAL_BLOCKS)
        repeats = range(max(1, effort.pairs // 4))
        found = [used("show", str(large)) for _ in repeats]
        size = f"{large.stat().st_size / 1e6:,.0f} MB, CPU {found[0].cpu_s:.1f} s"
        shown_s = [each.wall_s for each in found]
        yield Figure("large journal answered", shown_s, at_most=5.0, unit=" s", detail=size)
        peaks = [each.peak_mib for each in found]
        yield Figure("large journal, peak memory", peaks, at_most=1024, unit=" MiB")
        shown_s = [used("show", str(usual)).wall_s for _ in repeats]
        yield Figure("usual journal answered", shown_s, at_most=2.0, unit=" s")
        report = ("report", str(usual), "--output", str(Path(folder, "report")))
        made_s = [used(*report).cpu_s for _ in repeats]
        yield Figure("page, plots and tables, CPU time", made_s, unit=" s")


def used(*arguments: str) -> Used:
    """Run a command of `scaling`."""
    command = [sys.executable, "-m", "scaling", *arguments]
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as running:
        _, status, of = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {running.returncode}")
    wall_s = time.perf_counter() - began
    return Used(wall_s, of.ru_utime + of.ru_stime, of.ru_maxrss / 1024)


def twins(count: int) -> list[Slot]:
    """Hidden duplicates of the first cells of `echo`."""
    return [Slot(cell, 1) for cell in USUAL.every_cell[:count]]


def fabricate(path: Path, slots: list[Slot], blocks: int) -> None:
    """Write a journal of every cell in every block, in random order, without measuring.

    A line is made by putting its place into one that was made before: a run takes a hundred times
    as long to make up as to write.
    """
    rng = random.Random(1)
    made = [[pieces(slot, rng) for _ in range(min(DIFFERENT, blocks))] for slot in slots]
    head = ECHO.first_line
    both = {**head.workloads, **CONTROLS.first_line.workloads}
    with path.open("wb") as file:
        file.write(encode_line(with_(head, workloads=both, blocks=blocks)))
        for block in range(blocks):
            for position, place in enumerate(rng.sample(range(len(slots)), len(slots))):
                seconds = block * S_PER_BLOCK + position * S_PER_BLOCK // len(slots)
                at = f"{STARTED_AT + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
                before, between, after = rng.choice(made[place])
                where = b'"block":%d,"position":%d' % (block, position)
                file.write(b"".join((before, where, between, b'"at":"%s"' % at.encode(), after)))


def pieces(slot: Slot, rng: random.Random) -> tuple[bytes, bytes, bytes]:
    """A run's line without its place in the study: before it, between its two parts, after them."""
    line = encode_line(with_(ECHO.run(slot.cell, rng), repeat=slot.repeat))
    before, rest = line.split(b'"block":0,"position":0', 1)
    between, after = rest.split(f'"at":"{STARTED_AT:%Y-%m-%dT%H:%M:%SZ}"'.encode(), 1)
    return before, between, after
