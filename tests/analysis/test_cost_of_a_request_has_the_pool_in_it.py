"""CPU time per request is that of all threads of the workers' processes: a pool of threads, too."""

from pathlib import Path

import pytest

from scaling.journal.record import RunLine, ThreadUse
from tests.support.fabricate import with_
from tests.support.served import Served, studied

CPU_NS = 6 * 10**9  # of one process


def cost(folder: Path, model: str) -> tuple[float, float]:
    """CPU seconds per request of two workers, and all that they did."""

    def used(run: RunLine) -> RunLine:
        workers = run.record.workers if run.record else []
        use = ThreadUse(process_cpu_ns=CPU_NS)
        return with_(run, record__workers=[with_(each, use=use) for each in workers])

    one = Served(configurations=[("3.14t", model)], workers=(2,), rates=(800.0,), blocks=1)
    row = studied(folder, one, used).frame.iloc[0]
    return float(row["cpu_s_per_op"]), float(row["operations"])


def test_workers_of_one_process_have_read_the_same_clock(tmp_path: Path) -> None:
    per_request_s, requests = cost(tmp_path, "threads")
    assert per_request_s == pytest.approx(6 / requests)


@pytest.mark.parametrize("model", ["processes", "forked"])
def test_each_process_has_its_own(tmp_path: Path, model: str) -> None:
    per_request_s, requests = cost(tmp_path, model)
    assert per_request_s == pytest.approx(12 / requests)


def test_where_it_was_not_read_it_is_that_of_the_loops(tmp_path: Path) -> None:
    one = Served(configurations=[("3.14t", "threads")], workers=(2,), rates=(800.0,), blocks=1)
    row = studied(tmp_path, one).frame.iloc[0]
    assert row["cpu_s_per_op"] == pytest.approx(0.9e-3, rel=0.1)
