"""The harness leaves glibc's malloc in its initial state for the workload.

Fresh, glibc maps and unmaps asyncio's 256 KiB receive buffer at each read; once a larger block has
been freed it does so no more, and echo runs three times as fast. Nothing that we do before the
window may free one.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.journal.record import Record
from tests.support.children import FREE_THREADED, measured

pytestmark = pytest.mark.slow

# A machine may stall for most of a second, and leave a shorter window no operation to divide by.
ECHO = {"workload": "echo", "window_s": 2, "warmup_s": 0.1}
FEW = 0.1  # faults an operation: the heap has what is needed


def faults_per_operation(record: Record) -> float:
    (worker,) = record.workers
    faults = worker.ticks.minor_faults
    assert faults is not None
    first, last = faults[0], faults[-1]
    assert first is not None
    assert last is not None
    return (last - first) / (worker.ticks.operations[-1] - worker.ticks.operations[0])


def test_fresh_child() -> None:
    faults = faults_per_operation(measured(ECHO))
    assert faults < FEW if FREE_THREADED else faults >= 1


def test_mimalloc_has_no_such_state() -> None:
    assert faults_per_operation(measured(ECHO, PYTHONMALLOC="mimalloc")) < FEW


def test_a_larger_block_freed_before_would_show(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(
        """
        from workers.workloads.echo import Echo
        class Theirs(Echo):
            async def setup(self, worker: Worker) -> None:
                bytearray(1 << 20)
                await super().setup(worker)
        """
    )
    assert faults_per_operation(measured(ECHO | {"workload": workload}, tmp_path)) < FEW
