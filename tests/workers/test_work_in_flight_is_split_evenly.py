"""Work in flight is divided evenly, and each worker's share is in the record."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import measured
from workers.cell import Cell

pytestmark = pytest.mark.slow

COUNTS_CONNECTIONS = """
    from workers.workloads.echo import Echo
    class Theirs(Echo):
        async def setup(self, worker: Worker) -> None:
            await super().setup(worker)
            worker.fail(f"{len(self._ends.clients)} connections")
    """


@pytest.mark.parametrize(
    ("total", "workers", "shares"),
    [(16, 2, [8, 8]), (7, 3, [3, 2, 2]), (4, 4, [1, 1, 1, 1]), (None, 2, [None, None])],
)
def test_even_shares(total: int | None, workers: int, shares: list[int | None]) -> None:
    cell = Cell("echo", workers=workers, in_flight=total)
    assert [cell.share(index) for index in range(workers)] == shares
    assert total is None or sum(share or 0 for share in shares) == total


@pytest.mark.one_build
@pytest.mark.parametrize("model", ["threads", "processes"])
@pytest.mark.parametrize(("total", "shares"), [(5, [3, 2]), (None, [8, 8])])
def test_each_worker_has_its_share(
    theirs: Callable[[str], str],
    tmp_path: Path,
    model: str,
    total: int | None,
    shares: list[int],
) -> None:
    cell = {"workload": theirs(COUNTS_CONNECTIONS), "workers": 2, "model": model}
    workers = measured(cell | {"in_flight": total}, tmp_path).workers
    assert [worker.in_flight for worker in workers] == shares
    assert [worker.error_samples for worker in workers] == [
        [f"{share} connections"] for share in shares
    ]


HAS_OTHERS = """
    from workers.workloads.echo import Echo
    class Theirs(Echo):
        async def setup(self, worker: Worker) -> None:
            self.connections += worker.index
            await super().setup(worker)
    """


def test_the_record_has_what_is_in_flight_and_not_what_was_asked(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    cell = {"workload": theirs(HAS_OTHERS), "workers": 2, "in_flight": 6}
    assert [worker.in_flight for worker in measured(cell, tmp_path).workers] == [3, 4]


def test_workload_that_has_no_such_parameter_is_left_alone() -> None:
    workers = measured({"workload": "compute", "workers": 2, "in_flight": 4}).workers
    assert [worker.in_flight for worker in workers] == [None, None]
    assert [worker.ticks.operations[-1] > 0 for worker in workers] == [True, True]
