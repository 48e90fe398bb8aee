"""Every workload, on every loop and in every model, leaves nothing behind and prints nothing."""

import pytest

from tests.support.children import Own, each_case, finish

pytestmark = pytest.mark.slow

# In a sub-interpreter, which refuses uvloop, and in processes, one stands for all.
LARGE = {"payload_bytes": 300_001, "connections": 2}  # comes back whole, in many reads
CASES = [
    ("compute", {}, "uvloop", "threads"),
    ("shared", {}, "asyncio", "threads"),
    ("echo", {"api": "protocol"}, "asyncio", "threads"),
    ("echo", {"api": "buffered", **LARGE}, "asyncio", "threads"),
    ("echo", {"api": "streams"}, "uvloop", "threads"),
    ("stream", {"receiver": "streams"}, "asyncio", "threads"),
    ("stream", {"receiver": "protocol"}, "uvloop", "threads"),
    ("echo", {"api": "streams", **LARGE}, "asyncio", "interpreters"),
    ("stream", {"receiver": "protocol"}, "asyncio", "interpreters"),
    ("echo", {"api": "protocol", **LARGE}, "uvloop", "processes"),
    ("stream", {"receiver": "streams"}, "uvloop", "forked"),
]
STRICT = "error"  # a resource that is not closed, a coroutine never awaited: shown on stderr
# Ticks that are late are taken one a turn of the loop: in so many, every workload has something to
# count, even if a machine stands still for the whole window.
TURNS = 100


@each_case(("workload", "parameters", "loop", "model"), CASES)
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


@pytest.mark.one_build
def test_a_socket_left_open_and_a_task_left_running_would_be_seen(own: Own) -> None:
    own.variables["PYTHONWARNINGS"] = STRICT
    done = own.finish("""
        from workers.workloads.compute import Compute
        class Theirs(Compute):
            async def setup(self, worker: Worker) -> None:
                socket.socket()
                self.task = asyncio.create_task(asyncio.sleep(3600))
        """)
    assert "ResourceWarning: unclosed <socket" in done.stderr
    (worker,) = done.record.workers
    assert worker.pending_tasks == 1
