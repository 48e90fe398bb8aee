"""The driver killed, with its whole group, at random instants; stopped; and by Ctrl-C."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tests.faults.checks import After, Fault, Try, checked, complete, kept_in
from tests.faults.drivers import SERVED, finished, start, study
from tests.faults.services import ROWS
from tests.support.cli import BUILD, environment

KILLS = 100
COMMANDS = 8
LONGEST_S = 2.5  # from the start of a driver to its end by force
TURNS: dict[str, Any] = {
    "arm": ("3.14t",),  # of which threads are compared with processes, so that they take turns
    "workload": ("echo",),
    "model": ("threads", "processes"),
    "workers": ("2",),
    "seconds": 0.4,
    "blocks": 2,
}
MIXED: dict[str, Any] = {
    "workload": ("compute", "scrape", "serve", "web"),
    "blocks": 3,
    "set": (*SERVED, *ROWS, "web.pooler=pgbouncer", "web.proxy=nginx"),
}


def killed(folder: Path, asked: Mapping[str, Any], kills: int) -> Iterator[Try]:
    """SIGKILL at any time of a study; the next driver resumes it."""
    chance = random.Random(1)
    with study(**asked) as ready:
        studies, place = 0, folder / "0"
        for _ in range(kills):
            driver = start(ready, place)
            time.sleep(chance.uniform(0, LONGEST_S))
            before = kept_in(place)
            driver.kill()
            yield driver.after(before)
            if driver.exit_code == 0:  # it was complete before it could be killed
                studies += 1
                place = folder / str(studies)
        yield finished(start(ready, place), kept_in(place))


def commands_killed(folder: Path) -> Iterator[Try]:
    """The same for the command itself, while it prepares, measures and draws."""
    chance = random.Random(2)
    small = ("--workload", "compute", "--workers", "1", "--blocks", "2", "--seconds", "0.1")
    command = ["run", "--arm", BUILD, *small, "--no-controls", "--output", "out"]
    (folder / "tmp").mkdir()
    out = folder / "out"
    for last in (False,) * COMMANDS + (True,):
        process = subprocess.Popen(
            [sys.executable, "-m", "scaling", *command],
            env=environment(folder) | {"TMPDIR": str(folder / "tmp")},
            cwd=folder,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if not last:
            time.sleep(chance.uniform(0.2, 8))
        before = kept_in(out)
        if not last:
            os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        problem = said if last and process.returncode else ""
        known = [each.name for each in out.glob("*")]
        if last:  # what was being written when it was killed is gone
            known = [each for each in known if not each.startswith(".")]
        yield checked(After(out, before, known, said, problem))


def interrupted(folder: Path, asked: Mapping[str, Any]) -> Iterator[Try]:
    """Ctrl-C, once and twice, at random instants."""
    chance = random.Random(3)
    with study(**asked) as ready:
        for number in range(10):
            driver = start(ready, folder / str(number))
            time.sleep(chance.uniform(0.1, LONGEST_S))
            before = kept_in(driver.folder)
            for _ in range(1 + number % 2):
                if not driver.wait(0.02):
                    os.killpg(driver.pid, signal.SIGINT)
            yield finished(driver, before, codes=(0, 130))


def stopped(folder: Path) -> Iterator[Try]:
    """Ctrl-Z at random instants while runs take turns; the driver goes on after a while."""
    chance = random.Random(4)
    with study(**TURNS) as ready:
        for number in range(10):
            driver = start(ready, folder / str(number))
            time.sleep(chance.uniform(0.1, LONGEST_S))
            if not driver.wait(0):
                os.killpg(driver.pid, signal.SIGSTOP)
                time.sleep(chance.uniform(0.1, LONGEST_S))
                os.killpg(driver.pid, signal.SIGCONT)
            yield finished(driver)
            yield complete(driver.folder, len(ready.plan.runs))


def child_killed(folder: Path) -> Iterator[Try]:
    """A process of the driver is killed while runs take turns, working or stopped."""
    chance = random.Random(5)
    with study(**TURNS) as ready:
        for number in range(20):
            driver = start(ready, folder / str(number))
            time.sleep(chance.uniform(0.1, LONGEST_S))
            with contextlib.suppress(psutil.Error):
                if found := psutil.Process(driver.pid).children(recursive=True):
                    chance.choice(found).kill()
            yield finished(driver)
            yield complete(driver.folder, len(ready.plan.runs))


FAULTS: dict[str, Fault] = {
    "driver killed at random instants": partial(killed, asked=MIXED, kills=KILLS),
    "driver killed between turns": partial(killed, asked=TURNS, kills=KILLS // 2),
    "command killed at random instants": commands_killed,
    "Ctrl-C at random instants": partial(interrupted, asked=MIXED),
    "Ctrl-C between turns": partial(interrupted, asked=TURNS),
    "driver stopped between turns": stopped,
    "child killed between turns": child_killed,
}
