"""What `spawn` can choose on asyncio alone: how tasks begin, and how they are waited for."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from workers.loops.libraries import Begin


@contextmanager
def eagerly() -> Iterator[None]:
    """Have the running loop begin tasks in `create_task`, for as long as the block lasts."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(_eager)
    try:
        yield
    finally:
        loop.set_task_factory(before)


def _eager(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    # Like `asyncio.eager_task_factory`, but insisting: from 3.13 on uvloop 0.23 hands any factory
    # eager_start=None, and asyncio's takes that for a no.
    options["eager_start"] = True
    return asyncio.Task(coroutine, loop=loop, **options)


async def wait(begins: Iterable[Begin]) -> None:
    """Start a task for each in a list, and wait for the list."""
    await asyncio.wait([asyncio.create_task(begin()) for begin in begins])


async def gather(begins: Iterable[Begin]) -> None:
    """Gather a coroutine of each."""
    await asyncio.gather(*[begin() for begin in begins])
