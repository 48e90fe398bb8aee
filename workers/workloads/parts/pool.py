"""How many threads each loop's pool has, for work that blocks.

Two limits decide that: the loop's default executor, which `asyncio.to_thread` uses, and anyio's
limiter, by which Starlette and FastAPI run endpoints that are not coroutines. Each loop has its
own, so N loops have N times as many threads.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PREFIX = "loop-pool"


class PoolError(RuntimeError):
    """The pool is not what was asked for: the application sets it itself."""


def size_pool(threads: int) -> None:
    """Give the running loop a pool of so many threads; 0 leaves what its libraries have."""
    if threads:
        executor = ThreadPoolExecutor(threads, thread_name_prefix=PREFIX)
        asyncio.get_running_loop().set_default_executor(executor)
        if limiter := _limiter():
            limiter.total_tokens = threads


async def pool_in_use(threads: int) -> dict[str, str]:
    """The pool of the running loop, for the record, once it is seen to be ours; nothing if no size
    was asked for.

    Raises:
        PoolError: it is not what was asked for.
    """
    if not threads:
        return {}
    thread = await asyncio.to_thread(threading.current_thread)
    if not thread.name.startswith(PREFIX):
        raise PoolError("the application sets the loop's default executor itself: leave out pool")
    limiter = _limiter()
    if limiter and limiter.total_tokens != threads:
        raise PoolError(
            f"{threads} threads per loop were asked for, and the application sets anyio's limiter "
            f"to {limiter.total_tokens:g} itself: leave out pool"
        )
    return {"pool": f"{threads} threads per loop"}


def _limiter() -> Any:  # anyio.CapacityLimiter, where the environment has anyio
    try:
        from anyio.to_thread import current_default_thread_limiter
    except ImportError:
        return None
    return current_default_thread_limiter()
