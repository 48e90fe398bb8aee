"""asyncio's ways to run many coroutines as tasks and collect all their results, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Literal

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
