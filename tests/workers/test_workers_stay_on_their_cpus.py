"""Each worker runs on the CPUs of its cell and reports them; nothing else is moved."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import finish, measured
from workers.cell import CellError, read_cell

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

CPUS = sorted(os.sched_getaffinity(0))
# On a machine with one CPU the two share it, which is reported in the same way.
PINNING = [[CPUS[0]], [CPUS[-1]]]
REPORTS = """
    from workers.workloads.compute import Compute
    class Theirs(Compute):
        async def setup(self, worker: Worker) -> None:
            worker.fail(f"{sorted(os.sched_getaffinity(os.getpid()))}")
    """


@pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])
def test_cpus_are_read_back(model: str) -> None:
    cell = {"workload": "echo", "workers": 2, "model": model, "pinning": PINNING}
    assert [worker.cpus for worker in measured(cell).workers] == PINNING


def test_left_to_the_kernel_nothing_is_said() -> None:
    assert [worker.cpus for worker in measured({"workload": "compute"}).workers] == [None]


def test_host_is_not_moved(theirs: Callable[[str], str], tmp_path: Path) -> None:
    cell = {"workload": theirs(REPORTS), "workers": 2, "pinning": PINNING}
    for worker in measured(cell, tmp_path).workers:
        assert worker.error_samples == [str(CPUS)]  # of the main thread, where the host is


def test_cpu_that_is_not_there_fails_the_run() -> None:
    done = finish({"workload": "compute", "pinning": [[100_000]]})
    assert done.code == 1
    assert done.record.failure is not None
    assert done.record.failure.worker == 0
    assert "Invalid argument" in done.record.failure.error


@pytest.mark.parametrize(
    "pinning", [[], [[0]], [[0], []], [[0], [1], [0]], [[0], 1], [[0], ["1"]], [[0], [-1]], "0,1"]
)
def test_pinning_that_does_not_fit_is_refused(pinning: object) -> None:
    with pytest.raises(CellError, match="pinning: expected "):
        read_cell({"workload": "echo", "workers": 2, "pinning": pinning})
