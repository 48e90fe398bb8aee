"""Whatever goes wrong with a load, the run has an outcome that says so, and no process is left."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from scaling.run import load as load_module
from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import ROOT, Own, environment, failure_of
from tests.support.refusing import failing
from tests.support.servers import gone
from tests.support.serving import load_of, program, served
from tests.support.waiting import wait_until
from workers.services.load.generator import write_line

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

ANSWERS = """
    from workers.workloads.parts.served import Accepting

    @dataclass
    class Theirs(Workload):
        served = True
        in_flight = "connections"
        connections: int = parameter(4, "connections per worker")
        way: str = parameter("right", "how to answer")

        def client_scheme(self) -> str:
            return "tcp"

        async def setup(self, worker: Worker) -> None:
            if self.way == "refuse":
                worker.inbound[1].shutdown(socket.SHUT_RDWR)
            self._accepting = Accepting(lambda: Server(worker, self.way))
            await self._accepting.begin(worker)

        async def run(self, worker: Worker) -> None:
            await worker.stopped()

        async def teardown(self, worker: Worker) -> None:
            await self._accepting.close()

    class Server(asyncio.Protocol):
        def __init__(self, worker: Worker, way: str) -> None:
            self.worker, self.way = worker, way

        def connection_made(self, transport: asyncio.Transport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.worker.operations += 1
            if self.way == "die" and self.worker.operations > 20:
                os.kill(os.getpid(), signal.SIGKILL)
            else:
                self.transport.write(data)
    """


@pytest.fixture
def run(own: Own) -> Callable[..., Ending]:
    workload = own.write(ANSWERS)

    def run(way: str, **other: Any) -> Ending:
        return served(workload, own.folder, parameters={"way": way}, **other)

    return run


def why(ending: Ending) -> str:
    """What the record of a failed run says."""
    assert ending.load is None
    return failure_of(ending).error


def test_answers_are_counted(run: Callable[..., Ending]) -> None:
    """`test_load_answers_are_labelled.py` has those that are wrong or never come."""
    load = load_of(run("right"))
    assert load.errors == {}
    assert (load.worker_cpus, load.cpus) == (None, None)  # they share CPUs
    assert 0 < load.completed <= load.offered
    assert (load.cpu_s or 0) > 0
    assert len(load.windows) == 4  # it follows the instants of the ticks
    assert all(each.answered for each in load.windows)
    assert sum(each.answered for each in load.windows) <= load.completed


@pytest.mark.parametrize("model", ["threads", "processes"])
def test_a_worker_that_dies_under_load_ends_the_run(run: Callable[..., Ending], model: str) -> None:
    ending = run("die", model=model, workers=2, window_s=10)  # it ends long before
    assert ending.outcome == ("crashed" if model == "threads" else "failed")
    assert ending.load is None


def test_a_server_that_cannot_be_reached_is_named(run: Callable[..., Ending]) -> None:
    said = why(run("refuse"))
    assert "the load generator ended: no server answers at 127.0.0.1:" in said
    assert "Connection refused" in said


def test_a_generator_that_cannot_be_started_is_named(
    run: Callable[..., Ending], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = why(run("right", generators=program(python="/nowhere/python")))
    assert said.endswith("the load generator cannot be started: No such file or directory")

    full = SimpleNamespace(TemporaryFile=failing(errno.ENOSPC))
    monkeypatch.setattr(load_module, "tempfile", full)
    said = why(run("right"))
    assert said.endswith("the load generator cannot be started: No space left on device")


def test_a_generator_that_ends_at_once_has_its_last_words_kept(
    run: Callable[..., Ending], tmp_path: Path
) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('no such thing here')")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    said = why(run("right", generators=program(PYTHONPATH=path)))
    assert said.endswith("the load generator ended: no such thing here")


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


@pytest.mark.parametrize(
    ("place", "said"),
    [(0, "it was ended by SIGKILL"), (1, "ended without a result (exit code -9)")],
)
def test_a_generator_that_is_killed_is_named(
    run: Callable[..., Ending], place: int, said: str
) -> None:
    watch = Watch(lambda members: members[place].kill())
    assert said in why(run("right", watch=watch, generators=program(processes=2)))
    assert len(watch.members) == 3
    assert gone(watch.members)


def test_a_killed_generator_leaves_no_stopped_process(run: Callable[..., Ending]) -> None:
    def stop_and_kill(members: list[psutil.Process]) -> None:
        members[1].suspend()
        members[0].kill()

    watch = Watch(stop_and_kill)
    why(run("right", watch=watch))
    assert gone(watch.members)


def test_a_generator_that_hangs_is_waited_for_in_vain(
    run: Callable[..., Ending], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_module, "END_S", 0.5)
    watch = Watch(lambda members: members[0].suspend())
    assert "the load generator printed nothing for" in why(run("right", watch=watch))
    assert gone(watch.members)


def test_a_generator_process_that_is_stopped_shows_as_slip(run: Callable[..., Ending]) -> None:
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
    load = load_of(run("right", watch=watch, window_s=1.0))
    stopping.join()
    assert max(load.slip.value_ns) / 1e9 > stopped_s[0] - 0.1
    assert sum(load.slip.count) == load.offered


DRIVER = """
import pathlib, sys
from tests.support.serving import program, served
served("workers.workloads.serve:Serve", window_s=600, generators=program(processes=2))
"""


def test_nothing_outlives_a_driver_that_is_killed_under_load() -> None:
    variables = environment(HOME=str(Path.home()))  # where the driver has its cache
    with subprocess.Popen([sys.executable, "-c", DRIVER], env=variables) as driver:
        try:
            wait_until(lambda: len(loading(driver.pid)) == 2)
            members = psutil.Process(driver.pid).children(recursive=True)
            assert len(members) == 4  # child, coordinator, two that send
        finally:
            driver.send_signal(signal.SIGKILL)
    assert gone(members)


def loading(pid: int) -> list[psutil.Process]:
    """The generator's processes that have connections."""
    return [
        each
        for each in psutil.Process(pid).children(recursive=True)
        if "workers.services.load.generator" in each.cmdline() and each.net_connections("tcp")
    ]


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
