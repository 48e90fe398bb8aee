"""Choices of `spawn` that only asyncio has: eager tasks, and joining lists of tasks."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from workers.loops.libraries import Begin


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside the block, make the running loop start tasks eagerly, in `create_task`."""
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
    # Like `asyncio.eager_task_factory`, but always eager: from 3.13 on uvloop 0.23 passes
    # eager_start=None to any factory, which asyncio's own takes as False.
    options["eager_start"] = True
    return asyncio.Task(coroutine, loop=loop, **options)


async def wait(begins: Iterable[Begin]) -> None:
    """Start a list of tasks, and wait for the list."""
    await asyncio.wait([asyncio.create_task(begin()) for begin in begins])


async def gather(begins: Iterable[Begin]) -> None:
    """Gather the coroutines."""
    await asyncio.gather(*[begin() for begin in begins])
