"""How long does a journal of 100,000 runs take to become tables, and a usual one a page?"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from scaling.journal.record import Cell, encode_line
from scaling.study import controls
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.runs import STARTED_AT, with_
from tests.support.studies import FakeStudy

TARGET_S = 5.0
TARGET_MIB = 1024.0
TARGET_DEFAULT_S = 2.0
TARGET_PAGE_CPU_S = 4.0
BLOCKS = 200  # of 500 cells: 100,000 runs
USUAL_BLOCKS = 8
DIFFERENT = 8  # runs of a cell that are made; the others repeat them in other blocks
S_PER_BLOCK = 3600

ECHO = FakeStudy(
    name="large",
    variants={"echo": [{"payload_bytes": 2**size} for size in range(6, 16)]},
    arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2, 4),
)
CONTROLS = FakeStudy(
    variants={name: [dict(parameters)] for name, parameters in controls.CONTROLS.items()},
    arms=ECHO.arms,
    workers=(1, 2),
)
USUAL = FakeStudy(
    name="usual",
    variants={"echo": [{"payload_bytes": 1024}]},
    arms=ECHO.arms,
    models=ECHO.models,
    loops=ECHO.loops,
    workers=(1, 2, 4),
)


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Seconds and MiB of a fresh process, imports included; pandas reads the same lines."""
    del free_threaded
    with tempfile.TemporaryDirectory() as folder:
        large, usual = Path(folder) / "large.jsonl", Path(folder) / "usual.jsonl"
        fabricate(large, [*ECHO.every_cell, *CONTROLS.every_cell, *twins(4)], BLOCKS)
        fabricate(usual, [*USUAL.every_cell, *CONTROLS.every_cell, *twins(1)], USUAL_BLOCKS)
        repeats = max(1, effort.pairs // 4)
        found = [analysed(large, "scaling") for _ in range(repeats)]
        whole_s = [each["whole_s"] for each in found]
        first = found[0]
        parts = ", ".join(f"{name} {first[f'{name}_s']:.2f} s" for name in PARTS)
        parts += f", CPU {first['cpu_s']:.1f} s"
        size = f"{first['runs']:,.0f} runs, {large.stat().st_size / 1e6:,.0f} MB"
        yield Figure("large journal shown", whole_s, "at most", TARGET_S, " s", f"{parts}; {size}")
        peaks = [each["peak_mib"] for each in found]
        yield Figure("large journal, peak memory", peaks, "at most", TARGET_MIB, " MiB")
        alone = analysed(large, "pandas")
        ratios = [each["load_s"] / alone["load_s"] for each in found]
        detail = f"pandas.read_json of the lines: {alone['load_s']:.1f} s"
        yield Figure("large journal, load / pandas", ratios, "at most", None, detail=detail)
        usual_s = [analysed(usual, "scaling")["whole_s"] for _ in range(repeats)]
        yield Figure("usual journal shown", usual_s, "at most", TARGET_DEFAULT_S, " s")
        pages = [analysed(usual, "page") for _ in range(repeats)]
        cpu_s = [each["cpu_s"] for each in pages]
        size = f"{pages[0]['runs']:,.0f} runs, a page of {pages[0]['kib']:,.0f} KiB"
        yield Figure("page of it, CPU time", cpu_s, "at most", TARGET_PAGE_CPU_S, " s", size)


PARTS = ("load", "analyse", "tabulate")


def analysed(path: Path, how: str) -> dict[str, float]:
    """What `tests.benchmarks.analyse` says of itself, and how long its process was there."""
    command = [sys.executable, "-m", "tests.benchmarks.analyse", str(path), how]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment(), capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"whole_s": time.perf_counter() - began}


def twins(count: int) -> list[Cell]:
    """Hidden duplicates of the first cells of `echo`."""
    return [with_(cell, twin=True) for cell in list(USUAL.every_cell)[:count]]


def fabricate(path: Path, cells: list[Cell], blocks: int) -> None:
    """Write a journal of every cell in every block, in random order, without measuring.

    A line is made by putting its place into one that was made before: a run takes a hundred times
    as long to make up as to write.
    """
    rng = random.Random(1)
    made = [[pieces(cell, rng) for _ in range(min(DIFFERENT, blocks))] for cell in cells]
    head = ECHO.first_line
    both = {**head.workloads, **CONTROLS.first_line.workloads}
    with path.open("wb") as file:
        file.write(encode_line(with_(head, workloads=both, blocks=blocks)))
        for block in range(blocks):
            order = rng.sample(range(len(cells)), len(cells))
            for position, place in enumerate(order):
                seconds = block * S_PER_BLOCK + position * S_PER_BLOCK // len(cells)
                at = f"{STARTED_AT + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
                before, between, after = rng.choice(made[place])
                where = b'"block":%d,"position":%d' % (block, position)
                file.write(b"".join((before, where, between, b'"at":"%s"' % at.encode(), after)))


def pieces(cell: Cell, rng: random.Random) -> tuple[bytes, bytes, bytes]:
    """A run's line without its place in the study: before it, between its two parts, after them."""
    line = encode_line(ECHO.run(cell, rng))
    before, rest = line.split(b'"block":0,"position":0', 1)
    between, after = rest.split(f'"at":"{STARTED_AT:%Y-%m-%dT%H:%M:%SZ}"'.encode(), 1)
    return before, between, after
