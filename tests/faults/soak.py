"""`python -m tests.faults.soak --minutes 60`: mixed studies, interrupted at random and resumed.

Each study is begun, stopped by SIGKILL or Ctrl-C at a random instant, and resumed by another driver
until it is complete. After every driver no record is lost or doubled, and nothing is left. A driver
keeps no record, so that its memory does not grow with the runs.
"""

import argparse
import contextlib
import math
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console

from scaling.analysis.statistics.drift import theil_sen
from scaling.run.measure import Prepared
from tests.faults.__main__ import table
from tests.faults.attempt import Row, Try
from tests.faults.drivers import SERVED, Driver, finished, kept_in, start, study
from tests.faults.left_behind import adopt_orphans

LONGEST_S = 30.0  # of a driver, before it is stopped
LEFT_ALONE = 0.3  # of the drivers
DRIVERS_MOST = 50  # for one study
WARM = 5  # runs, after which a driver has imported and allocated all that it needs
ENOUGH = 5  # readings of its memory
MOST_KIB = 8  # per run, while its allocator settles: a record of two workers takes 12
MODELS = ("threads", "processes")
STUDIES: dict[str, dict[str, Any]] = {
    "windowed": {"workload": ("compute", "echo", "stream"), "model": MODELS, "workers": ("1,2",)},
    "finite": {"workload": ("sleep", "spawn", "lifecycle"), "scale": "0.001", "model": MODELS},
    "with a site": {"workload": ("scrape",), "set": ("scrape.delay_ms=1",), "model": MODELS},
    "served": {"workload": ("serve",), "set": SERVED, "model": MODELS, "workers": ("1,2",)},
}


def soak(folder: Path, until: float, memory: list[float]) -> Iterator[Try]:
    """Begin, stop and resume studies until then; `memory` gets growths of drivers, KiB per run."""
    chance = random.Random(1)
    with ExitStack() as stack:
        ready = [stack.enter_context(study(blocks=8, **each)) for each in STUDIES.values()]
        number = 0
        while time.monotonic() < until:
            number += 1
            yield from _one(chance.choice(ready), folder / str(number), chance, memory)
            shutil.rmtree(folder / str(number))


def _one(ready: Prepared, place: Path, chance: random.Random, memory: list[float]) -> Iterator[Try]:
    """One study, with as many drivers as it takes."""
    for _ in range(DRIVERS_MOST):
        before, driver = kept_in(place), start(ready, place)
        lives_s = math.inf if chance.random() < LEFT_ALONE else chance.uniform(0, LONGEST_S)
        memory += _watched(driver, time.monotonic() + lives_s)
        before = kept_in(place) or before
        if driver.exit_code is None:
            if chance.random() < 0.5:
                driver.kill()
            else:
                os.killpg(driver.pid, signal.SIGINT)
        yield finished(driver, before, codes=(0, 130, -signal.SIGKILL))
        if driver.exit_code == 0:
            return
    yield Try(problem=f"not complete after {DRIVERS_MOST} drivers")


def _watched(driver: Driver, until: float) -> list[float]:
    """Read its memory at each run until then, or its end; by how much it grew, KiB per run."""
    runs: list[int] = []
    kib: list[float] = []
    while time.monotonic() < until and not driver.wait(0.2):
        done = driver.windows()
        if done >= WARM and done not in runs:
            with contextlib.suppress(psutil.Error):
                kib.append(psutil.Process(driver.pid).memory_info().rss / 1024)
                runs.append(done)
    if len(runs) < ENOUGH:
        return []
    return [float(theil_sen(np.array(runs, float), np.array(kib), 0.95)[0])]


def main() -> None:
    """Soak for as long as asked; exit 1 if anything went wrong or a driver's memory grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    minutes = parser.parse_args().minutes
    adopt_orphans()
    began, memory = time.monotonic(), list[float]()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        tries = list(soak(Path(folder), began + 60 * minutes, memory))
    row = Row("soak", tries, time.monotonic() - began)
    print(*row.notes, sep="\n")
    Console(highlight=False).print(table([row]))
    grown = statistics.median(memory) if memory else math.nan
    print(f"memory of {len(memory)} drivers: {grown:+.1f} KiB per run (most: {MOST_KIB})")
    sys.exit(row.failed or grown > MOST_KIB)


if __name__ == "__main__":
    main()
