"""However a child ends, its run has an outcome, its output is kept, and no process is left."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.journal.record import Memory
from scaling.run.child import GARBAGE_KEPT, STDERR_KEPT, Child, Ending, Run, run_child
from scaling.run.process_tree import end_tree
from scaling.run.waiting import ended
from tests.support.children import (
    PATIENCE_S,
    QUICK,
    Own,
    each_case,
    each_model,
    failure_of,
    record_of,
)
from tests.support.refusing import failing
from tests.support.waiting import is_gone, limit_from, says

ENDS = """
    import ctypes, faulthandler

    @dataclass
    class Theirs(Workload):
        way: str = parameter("", "how to end")

        async def setup(self, worker: Worker) -> None:
            with open(os.environ["PIDS"], "a") as pids:
                pids.write(f"{os.getpid()} {os.getppid()}\\n")
            if self.way == "segfault":
                fall_over()
            elif self.way == "hang":
                stand_still()
            elif self.way == "print":
                sys.stderr.write("begin " + "x" * 1_000_000 + " end\\n")

        async def run(self, worker: Worker) -> None:
            await worker.stopped()

    def fall_over() -> None:
        faulthandler._sigsegv()

    def stand_still() -> None:
        with open(os.environ["HUNG"], "a") as hung:
            hung.write("here\\n")
        time.sleep(3600)
    """


@pytest.fixture(autouse=True)
def last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may need a second of the time to print the stacks and to end the process."""
    monkeypatch.setattr("scaling.run.process_tree.LAST_WORDS_S", 3.0)


def pids_in(own: Own) -> set[int]:
    """Workers, and the host where it is another process."""
    pids = {int(word) for word in (own.folder / "pids").read_text().split()}
    return pids - {os.getpid()}


@pytest.fixture
def run(own: Own) -> Callable[..., Ending]:
    """Runs `Theirs` as the driver does, and looks for what is left."""
    own.variables.update(PIDS=str(own.folder / "pids"), HUNG=str(own.folder / "hung"))

    def run(way: str, source: str = ENDS, **cell: Any) -> Ending:
        ending = own.driven(source, **{"parameters": {"way": way}, **cell})
        assert all(map(is_gone, pids_in(own)))
        return ending

    return run


@pytest.mark.slow
@pytest.mark.one_build
def test_an_end_without_a_record_is_a_crash(run: Callable[..., Ending]) -> None:
    ending = run("segfault")
    assert (ending.outcome, ending.exit_code, ending.signal) == ("crashed", None, signal.SIGSEGV)
    assert ending.record is None
    assert "in fall_over" in ending.stderr


@pytest.mark.slow
@pytest.mark.one_build
def test_worker_process_that_crashes_fails_the_run(run: Callable[..., Ending]) -> None:
    ending = run("segfault", model="forked")
    assert ending.exit_code == 1
    error = "ChannelClosedError: worker 0 ended without reporting why"
    assert failure_of(ending).error == error
    assert "in fall_over" in ending.stderr


@pytest.mark.slow
@each_model("threads", "processes")
def test_hang_is_ended_with_the_stacks_of_all_threads(
    run: Callable[..., Ending], own: Own, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    limit_from(monkeypatch, lambda: says(own.folder / "hung"))
    ending = run("hang", model=model, limit_s=1.0)  # by then the host waits for its worker
    assert (ending.outcome, ending.signal) == ("timed-out", signal.SIGKILL)
    assert "in stand_still" in ending.stderr
    assert "in receive_from_all" in ending.stderr


@pytest.mark.slow
@pytest.mark.one_build
def test_child_deaf_to_signals_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"
    limit_from(monkeypatch, lambda: says(pid))
    monkeypatch.setattr("scaling.run.process_tree.LAST_WORDS_S", 0.5)
    ending = fake_python(tmp_path, "trap '' USR1; echo $$ > pid; while :; do sleep 1; done", 0.2)
    assert (ending.outcome, ending.signal) == ("timed-out", signal.SIGKILL)
    assert is_gone(int(pid.read_text()))


@pytest.mark.one_build
def test_what_left_its_session_and_its_parent_is_ended_with_the_run(tmp_path: Path) -> None:
    """It keeps the child's descriptors, the probe's among them, and is nobody's descendant."""
    left = "setsid sh -c 'echo $$ > pid; exec sleep 30' &"
    ending = fake_python(tmp_path, f"({left}); while ! [ -s pid ]; do sleep 0.01; done")
    assert ending.outcome == "garbled"
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.one_build
def test_a_driver_without_descriptors_ends_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot look for processes, and ends those of the session."""
    monkeypatch.setattr("psutil.process_iter", failing(errno.EMFILE))
    monkeypatch.setattr("scaling.run.process_tree.family", failing(errno.EMFILE))
    with subprocess.Popen(["sleep", "10"], start_new_session=True) as process:
        end_tree(process, run="any")
        assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.one_build
def test_long_standard_error_is_kept_from_its_end(run: Callable[..., Ending]) -> None:
    ending = run("print")
    assert (ending.outcome, ending.exit_code, ending.signal) == ("measured", 0, None)
    assert (ending.raw_record or b"").startswith(b'{"schema": 1, "outcome": "measured"')
    assert len(ending.stderr) == STDERR_KEPT
    assert ending.stderr.endswith("xxx end\n")


def fake_python(folder: Path, script: str, limit_s: float = 30.0) -> Ending:
    """Run a shell script in Python's place."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
    python.chmod(0o755)
    child = Child(str(python), {"PATH": os.environ["PATH"]})
    return run_child(Run(child, {"workload": "compute", **QUICK}, limit_s))


@pytest.mark.one_build
@pytest.mark.parametrize(
    "rubbish", ["hello", '{"schema": 1, "outcome": "wonderful"}', "\\377\\376"]
)
def test_rubbish_is_garbled_and_kept(tmp_path: Path, rubbish: str) -> None:
    ending = fake_python(tmp_path, f"printf '%b' '{rubbish}'; echo oh >&2")
    assert (ending.outcome, ending.record, ending.exit_code) == ("garbled", None, 0)
    assert ending.stderr.startswith("oh\n[standard output] ")
    assert "\\" in rubbish or ending.stderr.endswith(rubbish)


@pytest.mark.one_build
def test_deep_rubbish_and_nothing_at_all_are_garbled(tmp_path: Path) -> None:
    ending = fake_python(tmp_path, "head -c 1000000 /dev/zero | tr '\\0' '['")
    assert ending.outcome == "garbled"
    assert ending.stderr == "[standard output] " + "[" * GARBAGE_KEPT
    ending = fake_python(tmp_path, "")
    assert (ending.outcome, ending.stderr) == ("garbled", "")
    assert ending.memory == Memory(samples=0)


@pytest.mark.one_build
def test_a_child_that_cannot_be_started_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = psutil.Process().num_fds()
    cell = {"workload": "compute", **QUICK}
    ending = run_child(Run(Child("/nowhere/python", {}), cell))
    assert (ending.outcome, ending.record) == ("crashed", None)
    assert ending.stderr == "the child cannot be run: No such file or directory"
    monkeypatch.setattr("tempfile.TemporaryFile", failing(errno.ENOSPC))
    ending = run_child(Run(Child(sys.executable, {}), cell))
    assert (ending.outcome, ending.stderr[-23:]) == ("crashed", "No space left on device")
    assert psutil.Process().num_fds() == before


RECORD = """echo '{"schema": 1, "outcome": "measured"}'"""


@pytest.mark.one_build
def test_a_record_is_kept_whatever_its_child_does_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = fake_python(tmp_path, f"{RECORD}; kill -SEGV $$")
    assert (ending.outcome, ending.signal) == ("crashed", signal.SIGSEGV)
    assert ending.record
    limit_from(monkeypatch, lambda: says(tmp_path / "printed"))
    ending = fake_python(tmp_path, f"{RECORD}; echo all > printed; while :; do sleep 1; done", 0.2)
    assert (ending.outcome, ending.signal) == ("measured", signal.SIGUSR1)
    ending = fake_python(tmp_path, "echo rubbish; exit 3")
    assert (ending.outcome, ending.exit_code) == ("crashed", 3)


CLINGS = """
    import threading

    @dataclass
    class Theirs(Workload):
        ways: str = parameter("waits", "how each worker clings, in their order")

        async def run(self, worker: Worker) -> None:
            while worker.running:  # one a turn of the loop, as late ticks are: one between any two
                await asyncio.sleep(0)
                worker.operations += 1

        async def teardown(self, worker: Worker) -> None:
            way = self.ways.split()[worker.index]
            if way == "waits":
                await asyncio.sleep(3600)
            elif way == "deaf":
                while True:
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        pass
            elif way == "blocks":
                time.sleep(3600)
            elif way == "executor":
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
            else:
                threading.Thread(target=time.sleep, args=(3600,)).start()
    """

# Read by every interpreter as it starts; a sub-interpreter has no host. Waiting is of no
# use only for those that hang; the machine may delay all others.
IMPATIENT = """\
import contextlib
import workers.worker.session
workers.worker.session.GRACE_S = 0.2
with contextlib.suppress(ImportError):
    import workers.host.hosting
    workers.host.hosting.GRACE_S, workers.host.hosting.CLOSING_S = 0.2, {closing_s}
"""


@pytest.mark.slow
@each_case(
    ("model", "ways", "pending", "hung"),  # what hangs, tasks that are left, whether the run hangs
    [
        ("threads", "waits waits", 1, False),
        ("threads", "deaf blocks executor", 0, True),
        ("interpreters", "thread thread", 0, False),
    ],
)
def test_what_hangs_while_closing_takes_no_figure_with_it(
    own: Own, model: str, ways: str, pending: int, hung: bool
) -> None:
    patience = IMPATIENT.format(closing_s=1.5 if hung else 30)
    (own.folder / "sitecustomize.py").write_text(patience)
    workers = len(ways.split())
    ending = own.driven(CLINGS, parameters={"ways": ways}, model=model, workers=workers)
    record = record_of(ending)
    assert ending.exit_code == 0
    for worker in record.workers:
        assert worker.ticks.operations[-1] > worker.ticks.operations[0]
        assert (worker.pending_tasks, worker.hung) == (pending, hung)


@pytest.mark.one_build
@pytest.mark.parametrize("has_pidfd", [True, False])
def test_the_end_of_a_child_is_noticed_on_every_system(
    has_pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)

    async def ends(process: "subprocess.Popen[bytes]") -> None:
        assert not await ended(process, 0.02)
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.close()
        assert await ended(process, PATIENCE_S)

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        asyncio.run(ends(process))
    assert process.returncode == 0
