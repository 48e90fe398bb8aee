"""A driver that ends or is stopped leaves none of its runs behind, and none stopped.

`nox -s faults` kills it at any instant.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.children import PATIENCE_S, environment
from tests.support.waiting import end, left_of, says, wait_until
from tests.workers.test_runs_take_turns import CELL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_build,
    pytest.mark.needs("stops"),
]

DRIVER = """
import json, os, random, signal, sys, time
from functools import partial
from scaling.run import alternation, watcher
from scaling.run.child import Child, Run, observed

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
watcher.MOST_STOPPED_S = float(os.environ.get("MOST_STOPPED_S", 10.0))
child = Child(sys.executable, dict(os.environ))
given = 0


class Said(alternation.Member):
    async def give(self, order):
        global given
        given += 1
        print("given", given, flush=True)
        await super().give(order)


async def job(cell, turn):
    return (await observed(Run(child, cell), turn)).outcome


alternation.Member = Said
cells = json.loads(sys.argv[1])
window_s = cells[0]["window_s"]
made = []


def make(needed):
    made.append("made")
    needed.callback(made.append, "left")
    return [partial(job, each) for each in cells]


found, _ = alternation.in_turn(make, window_s)
print(*made, *found, flush=True)
"""


@contextmanager
def driven(tmp_path: Path, window_s: float, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a driver of two runs that take turns; end it and its runs after the block."""
    cells = [
        CELL | {"model": model, "window_s": window_s, "alternating": True}
        for model in ("threads", "processes")
    ]
    with (tmp_path / "said").open("wb") as said:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, json.dumps(cells)],
            env=environment(**variables),
            stdout=said,
        )
    try:
        yield driver
    finally:
        end(driver)


def test_a_driver_stopped_for_long_measures_the_group_again(tmp_path: Path) -> None:
    with driven(tmp_path, window_s=1.0, MOST_STOPPED_S="2.0") as driver:
        wait_until(lambda: says(tmp_path / "said", lines=5))
        assert left_of(driver.pid)
        driver.send_signal(signal.SIGSTOP)
        wait_until(lambda: not left_of(driver.pid))
        driver.send_signal(signal.SIGCONT)
        assert driver.wait(PATIENCE_S) == 0
        said = (tmp_path / "said").read_text()
        assert said.endswith("\nmade left made left measured measured\n")


def test_ctrl_c_ends_all_of_a_group(tmp_path: Path) -> None:
    with driven(tmp_path, window_s=60.0) as driver:
        wait_until(lambda: says(tmp_path / "said", lines=5))
        driver.send_signal(signal.SIGINT)
        assert driver.wait(PATIENCE_S) != 0
        assert not left_of(driver.pid)
