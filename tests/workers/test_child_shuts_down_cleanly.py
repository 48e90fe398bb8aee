"""Every workload, on every loop and in every model, leaves nothing behind and prints nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import finish, measured
from tests.support.halves import on_this_build

pytestmark = pytest.mark.slow

WORKLOADS: list[tuple[str, dict[str, object]]] = [
    ("compute", {}),
    ("shared", {}),
    ("echo", {"api": "protocol"}),
    ("echo", {"api": "buffered"}),
    ("echo", {"api": "streams"}),
    ("stream", {"receiver": "streams"}),
    ("stream", {"receiver": "protocol"}),
]
PLACES = [
    ("asyncio", "threads"),
    ("uvloop", "threads"),
    ("asyncio", "interpreters"),
    ("uvloop", "processes"),
    ("asyncio", "processes"),
    ("asyncio", "forked"),
    ("uvloop", "forked"),
]
# Each workload on each loop in threads and in a sub-interpreter, which refuses uvloop; a worker
# process is to a workload what a thread is, so one stands for all. Only threads share.
CASES = [
    pytest.param(name, parameters, loop, model, id=f"{name}-{values}-{loop}-{model}")
    for (name, parameters), (loop, model) in on_this_build(WORKLOADS, PLACES)
    for values in ["-".join(map(str, parameters.values())) or "plain"]
    if model == "threads"
    or (model in ("processes", "forked") and parameters == {"api": "protocol"})
    or (model == "interpreters" and name != "shared")
]
STRICT = "error"  # a resource that is not closed, a coroutine never awaited: shown on stderr
# Ticks that are late are taken one a turn of the loop: in so many, every workload has something to
# count, even if a machine stands still for the whole window.
TURNS = 100


@pytest.mark.parametrize(("workload", "parameters", "loop", "model"), CASES)
def test_nothing_is_left_open_or_running(
    workload: str, parameters: dict[str, object], loop: str, model: str
) -> None:
    cell = {
        "workload": workload,
        "parameters": parameters,
        "loop": loop,
        "model": model,
        "workers": 2,
        "ticks": TURNS,
    }
    done = finish(cell, PYTHONWARNINGS=STRICT)
    assert done.stderr == ""
    assert done.code == 0
    record = done.record
    assert [worker.pending_tasks for worker in record.workers] == [0, 0]
    for worker in record.workers:
        assert worker.ticks.errors[-1] == 0, worker.error_samples
        assert worker.ticks.operations[-1] > worker.ticks.operations[0]


@pytest.mark.parametrize("api", ["protocol", "buffered", "streams"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_payloads_of_many_reads_come_back_whole(api: str, loop: str) -> None:
    parameters = {"api": api, "payload_bytes": 300_001, "connections": 2}
    cell = {"workload": "echo", "parameters": parameters, "loop": loop, "ticks": TURNS}
    done = finish(cell, PYTHONWARNINGS=STRICT)
    assert (done.stderr, done.code) == ("", 0)
    (worker,) = done.record.workers
    assert worker.ticks.operations[-1] > 0


def test_a_socket_left_open_would_be_seen(theirs: Callable[[str], str], tmp_path: Path) -> None:
    workload = theirs(
        """
        from workers.workloads.compute import Compute
        class Theirs(Compute):
            async def setup(self, worker: Worker) -> None:
                socket.socket()
        """
    )
    done = finish({"workload": workload}, tmp_path, PYTHONWARNINGS=STRICT)
    assert "ResourceWarning: unclosed <socket" in done.stderr


def test_a_task_left_running_would_be_seen(theirs: Callable[[str], str], tmp_path: Path) -> None:
    workload = theirs(
        """
        from workers.workloads.compute import Compute
        class Theirs(Compute):
            async def setup(self, worker: Worker) -> None:
                self.task = asyncio.create_task(asyncio.sleep(3600))
        """
    )
    (worker,) = measured({"workload": workload}, tmp_path).workers
    assert worker.pending_tasks == 1


def test_traffic_that_does_not_listen_is_cancelled(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(
        """
        import workers.worker.session
        workers.worker.session.GRACE_S = 0.1

        class Theirs(Workload):
            async def run(self, worker: Worker) -> None:
                await asyncio.sleep(3600)
        """
    )
    done = finish({"workload": workload}, tmp_path, PYTHONWARNINGS=STRICT)
    assert (done.stderr, done.code) == ("", 0)
    assert [worker.pending_tasks for worker in done.record.workers] == [0]
