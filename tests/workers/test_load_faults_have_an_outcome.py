"""Whatever goes wrong with a load, the run has an outcome that says so, and no process is left.

`nox -s faults` kills a driver beside a load generator.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from scaling.run import load as load_module
from scaling.run import load_client
from scaling.run.load import Generator
from tests.support.children import ROOT, failure_of
from tests.support.refusing import failing
from tests.support.servers import gone
from tests.support.serving import load_of, program, served
from workers.services.load.generator import write_line

pytestmark = [pytest.mark.slow, pytest.mark.one_build]
SERVE = "workers.workloads.serve:Serve"


def why(**asked: Any) -> str:
    """What the record of a run that must fail says."""
    ending = served(SERVE, **asked)
    assert ending.load is None
    return failure_of(ending).error


def test_a_server_that_cannot_be_reached_is_named() -> None:
    def elsewhere(generator: Generator) -> None:
        connect = generator.connect

        async def refused(urls: Sequence[str], requests: Any) -> None:
            await connect(["http://127.0.0.1:9"] * len(urls), requests)

        generator.connect = refused  # type: ignore[method-assign]

    said = why(watch=elsewhere)
    assert "the load generator ended: no server answers at 127.0.0.1:9" in said
    assert "Connection refused" in said


def test_a_generator_that_cannot_be_started_or_ends_at_once_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = why(generators=program(python="/nowhere/python"))
    assert said.endswith("the load generator cannot be started: No such file or directory")
    (tmp_path / "argparse.py").write_text("raise SystemExit('no such thing here')")
    said = why(generators=program(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"))
    assert said.endswith("the load generator ended: no such thing here")
    full = SimpleNamespace(TemporaryFile=failing(errno.ENOSPC))
    monkeypatch.setattr(load_client, "tempfile", full)
    said = why()
    assert said.endswith("the load generator cannot be started: No space left on device")


class Watch:
    """Does something to the generator of a run once it knows when to send; knows its processes."""

    def __init__(self, do: Callable[[list[psutil.Process]], None]) -> None:
        self.members: list[psutil.Process] = []
        self.opens_ns = 0
        self._do = do

    def __call__(self, generator: Generator) -> None:
        begin = generator.begin

        async def begin_and_do(instants_ns: list[int]) -> None:
            await begin(instants_ns)
            self.members, self.opens_ns = generator._tree(), instants_ns[0]
            self._do(self.members)

        generator.begin = begin_and_do  # type: ignore[method-assign, assignment]


def test_a_worker_that_dies_under_load_ends_the_run() -> None:
    def kill(members: list[psutil.Process]) -> None:
        (child,) = {*psutil.Process().children()} - {*members}
        child.kill()

    ending = served(SERVE, workers=2, window_s=60, watch=Watch(kill))
    assert (ending.outcome, ending.load) == ("crashed", None)


@pytest.mark.parametrize(
    ("killed", "stopped", "said"),
    [(0, 1, "it was ended by SIGKILL"), (1, None, "ended without a result (exit code -9)")],
)
def test_a_generator_that_is_killed_is_named_and_leaves_no_process(
    killed: int, stopped: int | None, said: str
) -> None:
    """Nor one that is stopped."""

    def stop_and_kill(members: list[psutil.Process]) -> None:
        if stopped is not None:
            members[stopped].suspend()
        members[killed].kill()

    watch = Watch(stop_and_kill)
    assert said in why(watch=watch, generators=program(processes=2))
    assert len(watch.members) == 3
    assert gone(watch.members)


def test_a_generator_that_hangs_is_waited_for_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "END_S", 0.5)
    watch = Watch(lambda members: members[0].suspend())
    assert "the load generator printed nothing for" in why(watch=watch)
    assert gone(watch.members)


def test_a_generator_process_that_is_stopped_shows_as_slip() -> None:
    stopped_s: list[float] = []

    def stop_in_the_window() -> None:
        time.sleep(max(0.0, (watch.opens_ns - time.monotonic_ns()) / 1e9))
        sending = watch.members[1]
        sending.suspend()
        begun = time.monotonic()
        time.sleep(0.3)
        stopped_s.append(time.monotonic() - begun)
        sending.resume()

    stopping = threading.Thread(target=stop_in_the_window)
    watch = Watch(lambda _: stopping.start())
    load = load_of(served(SERVE, watch=watch, window_s=0.7))
    stopping.join()
    assert max(load.slip.value_ns) / 1e9 > stopped_s[0] - 0.1
    assert sum(load.slip.count) == load.offered
    assert load.errors == {}
    assert (load.worker_cpus, load.cpus) == (None, None)  # they share CPUs
    assert 0 < load.completed <= load.offered
    assert (load.cpu_s or 0) > 0
    assert len(load.windows) == 4  # it follows the instants of the ticks
    assert sum(each.answered for each in load.windows) <= load.completed


def test_a_report_is_written_whole_where_the_system_takes_only_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[bytes] = []

    def write(_descriptor: int, data: bytes) -> int:
        taken.append(data[:5])
        return len(taken[-1])

    monkeypatch.setattr("workers.services.load.generator.os.write", write)
    write_line({"answered": 7})
    assert b"".join(taken) == b'{"answered": 7}\n'
