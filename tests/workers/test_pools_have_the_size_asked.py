"""A loop's pool has as many threads as a study asks for, or the run fails and says why."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from anyio import to_thread

from workers.workloads.parts.served import PoolError, pool_in_use, size_pool

pytestmark = pytest.mark.one_build

THREADS = 3


def blocked() -> int:
    """Which thread it was, once others have begun, too."""
    time.sleep(0.05)
    return threading.get_ident()


def test_work_that_blocks_runs_in_so_many_threads_and_no_more() -> None:
    async def threads() -> tuple[set[int], set[int], dict[str, str]]:
        size_pool(THREADS)
        ours = await asyncio.gather(*(asyncio.to_thread(blocked) for _ in range(3 * THREADS)))
        theirs = await asyncio.gather(*(to_thread.run_sync(blocked) for _ in range(3 * THREADS)))
        return set(ours), set(theirs), await pool_in_use(THREADS)

    by_asyncio, by_anyio, noted = asyncio.run(threads())
    assert len(by_asyncio) == len(by_anyio) == THREADS
    assert noted == {"pool": "3 threads per loop"}


def test_each_loop_has_a_pool_of_its_own_or_that_of_the_libraries() -> None:
    async def tokens(threads: int) -> float:
        size_pool(threads)
        return to_thread.current_default_thread_limiter().total_tokens

    assert [asyncio.run(tokens(each)) for each in (1, 5, 0)] == [1, 5, 40]
    assert asyncio.run(pool_in_use(0)) == {}


def sets_limiter() -> None:
    to_thread.current_default_thread_limiter().total_tokens = 100


def sets_executor() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (sets_limiter, "sets anyio's limiter to 100 itself"),
        (sets_executor, "sets the loop's default executor itself"),
    ],
)
def test_an_application_that_sets_its_own_fails_the_run(
    sets: Callable[[], None], says: str
) -> None:
    async def start() -> None:
        size_pool(THREADS)
        sets()
        await pool_in_use(THREADS)

    with pytest.raises(PoolError, match=says):
        asyncio.run(start())
