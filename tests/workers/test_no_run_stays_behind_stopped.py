"""A driver that ends or is stopped leaves none of its runs behind, and none stopped."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from scaling.run.process_tree import CANNOT_STOP
from tests.support.children import environment
from tests.support.waiting import is_gone, says, wait_until
from tests.workers.test_runs_take_turns import CELL, WINDOW_S

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_build,
    pytest.mark.skipif(bool(CANNOT_STOP), reason=CANNOT_STOP),
]

DRIVER = """
import json, os, random, signal, sys, time
from functools import partial
from scaling.run import alternation, watcher
from scaling.run.child import Child, run_child

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
watcher.MOST_STOPPED_S = float(os.environ.get("MOST_STOPPED_S", 10.0))
child = Child(sys.executable, dict(os.environ))
given = 0


class Said(alternation.Member):
    def give(self, order):
        global given
        given += 1
        print("given", given, flush=True)
        super().give(order)


def job(cell, turn):
    return run_child(child, cell, turn=turn).outcome


alternation.Member = Said
cells = json.loads(sys.argv[1])
window_s = cells[0]["window_s"]
found, _ = alternation.in_turn([partial(job, each) for each in cells], window_s, random.Random(1))
print(*found, flush=True)
"""


def start_driver(tmp_path: Path, window_s: float, **variables: str) -> subprocess.Popen[bytes]:
    cells = [
        CELL | {"model": model, "window_s": window_s, "alternating": True}
        for model in ("threads", "processes")
    ]
    with (tmp_path / "said").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, json.dumps(cells)],
            env=environment(**variables),
            stdout=said,
        )


def left_of(driver: int) -> set[int]:
    """What runs of a driver have not ended, stopped or not."""
    found = set()
    for process in psutil.process_iter():
        try:
            mark = process.environ().get("SCALING_RUN", "")
            if mark.startswith(f"{driver}-") and not is_gone(process.pid):
                found.add(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("orders", [1, 4])
def test_nothing_stays_behind_when_the_driver_is_killed(tmp_path: Path, orders: int) -> None:
    """At the start of the first run, and in a slice; `nox -s faults` kills it at any instant."""
    driver = start_driver(tmp_path, window_s=60.0)
    try:
        wait_until(lambda: says(tmp_path / "said", lines=orders))
        time.sleep(random.uniform(0, 0.1))
    finally:
        driver.kill()
        driver.wait()
    wait_until(lambda: not left_of(driver.pid))


def test_a_driver_stopped_for_a_moment_goes_on(tmp_path: Path) -> None:
    driver = start_driver(tmp_path, WINDOW_S)
    wait_until(lambda: says(tmp_path / "said", lines=5))
    driver.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    driver.send_signal(signal.SIGCONT)
    assert driver.wait() == 0
    assert (tmp_path / "said").read_text().endswith("measured measured\n")
    assert not left_of(driver.pid)


def test_a_driver_stopped_for_long_measures_the_group_again(tmp_path: Path) -> None:
    driver = start_driver(tmp_path, window_s=2.0, MOST_STOPPED_S="0.5")
    wait_until(lambda: says(tmp_path / "said", lines=5))
    assert left_of(driver.pid)
    driver.send_signal(signal.SIGSTOP)
    wait_until(lambda: not left_of(driver.pid))
    driver.send_signal(signal.SIGCONT)
    assert driver.wait() == 0
    said = (tmp_path / "said").read_text()
    assert said.endswith("measured measured\n")
    assert said.count("measured measured") == 1


def test_ctrl_c_ends_all_of_a_group(tmp_path: Path) -> None:
    driver = start_driver(tmp_path, window_s=60.0)
    wait_until(lambda: says(tmp_path / "said", lines=5))
    driver.send_signal(signal.SIGINT)
    assert driver.wait() != 0
    assert not left_of(driver.pid)
