"""A request of `serve` costs what its parameters say: CPU work, a wait, garbage, a heap."""

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.children import PATIENCE_S
from tests.support.in_process import ask, at_work, right_request
from workers import Worker
from workers.workloads import echo
from workers.workloads.parts import work
from workers.workloads.parts.work import TURNS_PER_US, PerRequest, live_objects, make_garbage

pytestmark = pytest.mark.slow

SERVERS = pytest.mark.parametrize("server", ["tcp", "aiohttp", "asgi", "fastapi"])


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Nothing is collected but by the test."""
    while gc.collect():
        pass  # what a finalizer drops is found by the next collection
    gc.disable()
    yield
    gc.enable()


async def exchange(server: str, requests: int, **parameters: Any) -> tuple[float, float]:
    """Send requests one after the other; return how long that took, and CPU time, s."""
    async with at_work(server=server, **parameters) as made:
        right = right_request(made.serve)
        began, used = time.monotonic(), time.thread_time()
        if server == "tcp":
            reader, writer = await asyncio.open_connection(*made.address)
            for _ in range(requests):
                writer.write(right.on_tcp())
                assert await reader.readexactly(len(right.on_tcp())) == right.on_tcp()
            writer.close()
        else:
            await ask(made.address, *[right] * requests)
        return time.monotonic() - began, time.thread_time() - used


@pytest.mark.one_build
@SERVERS
def test_a_request_waits_without_the_cpu(server: str) -> None:
    took_s, cpu_s = asyncio.run(exchange(server, 3, wait_ms=30))
    assert took_s >= 3 * 0.03
    assert cpu_s < took_s / 2


@pytest.mark.one_build
@SERVERS
def test_a_request_works_and_leaves_garbage(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    garbage: list[int] = []
    monkeypatch.setattr(work, "turns", done.append)
    monkeypatch.setattr(work, "make_garbage", garbage.append)
    asyncio.run(exchange(server, 3, work_us=50, garbage_per_request=20))
    assert garbage == [20] * 4
    first = 1  # the one before anything is counted
    assert done == [50 * TURNS_PER_US] * (first + 3)
    done.clear()
    asyncio.run(exchange(server, 3))
    assert done == []


@pytest.mark.one_build
@pytest.mark.parametrize("work_us", [0.0, 50.0])
@pytest.mark.parametrize("api", list(echo.ENDS))
def test_a_round_trip_of_echo_works_once(
    api: Any, work_us: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    monkeypatch.setattr(echo, "turns", done.append)
    workload, worker = echo.Echo(connections=1, api=api, work_us=work_us), Worker(0, 1, {})
    workload.load()

    async def trips() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await workload.setup(worker)
            try:
                traffic = asyncio.create_task(workload.run(worker))
                while not (worker.operations or traffic.done()):  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0)
                worker.stop()
                await traffic
            finally:
                await workload.teardown(worker)

    asyncio.run(trips())
    assert worker.operations
    assert done == ([50 * TURNS_PER_US] * worker.operations if work_us else [])


def test_only_the_collector_frees_garbage_and_without_cost_there_is_none(
    no_collector: None,
) -> None:
    make_garbage(1_000)
    assert gc.collect() == 1_000
    PerRequest().work()
    asyncio.run(PerRequest().done())
    gc.collect()
    PerRequest(garbage=7).work()
    assert gc.collect() == 7


def test_live_objects_are_tracked_and_stay(no_collector: None) -> None:
    made = live_objects(1_000)
    assert len(made) == 1_000
    assert all(gc.is_tracked(each) for each in made)
    assert gc.collect() == 0
    assert len({id(each) for each in made}) == 1_000


@pytest.mark.parametrize(("heap", "sizes"), [("total", [4, 3, 3]), ("per-worker", [10, 10, 10])])
def test_a_worker_has_its_heap_until_its_end(heap: str, sizes: list[int]) -> None:
    async def size(index: int) -> int:
        async with at_work(index, 3, server="tcp", heap_objects=10, heap=heap) as made:
            made.worker.stop()
            await made.serve.run(made.worker)
            kept = made.serve._heap
            alive = set(map(id, gc.get_objects()))
            assert all(id(each) in alive for each in kept)
            assert made.worker.figures["heap_objects_total"] == len(kept)
            return len(kept)

    assert [asyncio.run(size(index)) for index in range(3)] == sizes
