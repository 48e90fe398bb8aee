"""Every kind of workload, loop and model leaves nothing behind and prints nothing."""

import pytest

from tests.support.children import FREE_THREADED, Own, each_case, finish

pytestmark = pytest.mark.slow

# In a sub-interpreter, which refuses uvloop, and in processes, one stands for all.
LARGE = {"payload_bytes": 300_001, "connections": 2}  # comes back whole, in many reads or records
ONE, OWN = {"tls": "shared", **LARGE}, {"tls": "per-worker", **LARGE}
CASES = [
    ("echo", {"api": "protocol", **ONE}, "asyncio", "threads"),
    ("echo", {"api": "buffered", **OWN}, "uvloop", "threads"),
    ("echo", {"api": "streams"}, "uvloop", "threads"),
    ("echo", {"api": "buffered", **LARGE}, "asyncio", "threads"),
    ("echo", {"api": "streams", **OWN}, "asyncio", "interpreters"),
    ("echo", {"api": "protocol", **OWN}, "uvloop", "processes"),
    ("stream", {"receiver": "streams"}, "asyncio", "threads"),
    ("stream", {"receiver": "protocol"}, "uvloop", "threads"),
    ("state", {"kind": "dicts", "objects": 1_000}, "asyncio", "threads"),
    ("state", {"kind": "array", "objects": 3, "read_percent": 0.0}, "asyncio", "interpreters"),
    ("state-pass", {"kind": "dicts", "objects": 1_000}, "asyncio", "forked"),
]
STRICT = "error"  # a resource that is not closed, a coroutine never awaited: shown on stderr
# Ticks that are late are taken one a turn of the loop: in so many, every workload has something to
# count, even if a machine stands still for the whole window.
TURNS = 100


@each_case(("workload", "parameters", "loop", "model"), CASES)
def test_nothing_is_left_open_or_running(
    workload: str, parameters: dict[str, object], loop: str, model: str
) -> None:
    asked = {"workload": workload, "parameters": parameters, "loop": loop, "model": model}
    done = finish({**asked, "workers": 2, "ticks": TURNS}, PYTHONWARNINGS=STRICT)
    assert (done.stderr, done.code) == ("", 0)
    record = done.record
    assert record.facts.get("tls", "").startswith("TLSv1.3 TLS_") == ("tls" in parameters)
    for worker in record.workers:
        assert (worker.errors, worker.pending_tasks) == (0, 0), worker.error_samples
        assert worker.ticks.operations[-1] > worker.ticks.operations[0]
        process = worker.process or record.process
        assert process.gil.seen == (not FREE_THREADED,) * 4


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
