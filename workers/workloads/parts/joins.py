"""asyncio's ways to run many coroutines as tasks and collect all their results, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from workers.loops.libraries import Begin

type Many = Iterable[Coroutine[Any, Any, int]]

Join = Literal["TaskGroup", "gather", "wait", "list"]


async def by_task_group(coroutines: Many) -> list[int]:
    """With a `TaskGroup`, which the first failure would cancel."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in coroutines]
    return [task.result() for task in tasks]


async def by_gather(coroutines: Many) -> list[int]:
    """With `gather`, which creates the tasks and orders the results itself."""
    return await asyncio.gather(*coroutines)


async def by_wait(coroutines: Many) -> list[int]:
    """With a list of tasks, awaited together by `asyncio.wait`."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    await asyncio.wait(tasks)
    return [task.result() for task in tasks]


async def by_list(coroutines: Many) -> list[int]:
    """With a list of tasks, awaited one after the other."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    return [await task for task in tasks]


JOINS: dict[Join, Callable[[Many], Awaitable[list[int]]]] = {
    "TaskGroup": by_task_group,
    "gather": by_gather,
    "wait": by_wait,
    "list": by_list,
}


# --------------------------------------------------------------------------------- spawn on asyncio
# Choices of `spawn` that only asyncio has: eager tasks, and joining lists of tasks.


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
