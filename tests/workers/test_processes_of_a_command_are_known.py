"""The processes of a command are known by more than their id, and whether they have work to do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.support.waiting import wait_until
from workers.cell import Cell
from workers.outside import hosting
from workers.outside.hosting import OutsideHost
from workers.outside.tree import CpuClock, Known, end, family, has_work

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

type Process = subprocess.Popen[bytes]


@pytest.fixture
def sleeping() -> Iterator[Process]:
    """A command that does nothing."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def another(known: Known) -> Known:
    """What was known of a process whose id another one has now."""
    return known._replace(started=known.started - 1)


def test_the_family_of_a_process_has_what_it_started(sleeping: Process) -> None:
    pids = {each.pid for each in family(os.getpid())}
    assert {os.getpid(), sleeping.pid} <= pids
    assert all(each.exists for each in family(sleeping.pid))
    sleeping.kill()
    sleeping.wait()
    assert family(sleeping.pid) == set()


def test_another_process_with_the_id_of_one_that_ended_is_not_read(sleeping: Process) -> None:
    (known,) = family(sleeping.pid)
    (ours,) = (each for each in family(os.getpid()) if each.pid == os.getpid())
    clock = CpuClock()
    assert clock.read_ns([another(known), another(ours)]) == 0
    used_ns = clock.read_ns([ours])
    assert clock.read_ns([another(ours)]) == used_ns > 0
    assert not has_work([another(ours)])


def test_another_process_with_the_id_of_one_that_ended_is_not_ended(sleeping: Process) -> None:
    (stranger,) = family(sleeping.pid)
    command = subprocess.Popen(["sleep", "60"])
    end(command, {another(stranger)})
    assert command.returncode == -signal.SIGTERM
    assert stranger.exists
    end(command, {stranger})
    assert sleeping.wait() == -signal.SIGKILL


def test_a_thread_that_runs_has_work_to_do_and_one_that_sleeps_has_none(sleeping: Process) -> None:
    (ours,) = (each for each in family(os.getpid()) if each.pid == os.getpid())
    assert has_work([ours]), "the thread that asks is running"
    wait_until(lambda: not has_work(family(sleeping.pid)))


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_the_record_says_whether_a_command_came_to_rest(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = "while" in code
    monkeypatch.setattr(hosting, "REST_S", 0.02)
    monkeypatch.setattr(hosting, "REST_MOST_S", 0.1 if busy else 60.0)
    monkeypatch.setattr(OutsideHost, "_pause", lambda _, seconds: time.sleep(seconds))
    host = OutsideHost(Cell(workload="app"), folder=".")
    with subprocess.Popen([sys.executable, "-S", "-c", code]) as process:
        host._process = process
        host._rest()
        outside = host._record(None)["outside"]
        end(process, host._processes)
    host._printed.close()
    assert outside["at_rest"] is not busy
    assert outside["processes"] == 1
