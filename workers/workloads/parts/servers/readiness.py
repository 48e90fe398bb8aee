"""Waits until a worker's application has started and is ready: its health path answers."""

import asyncio
import time

from workers.workloads.parts.applications import ApplicationError
from workers.workloads.parts.first_request import first_answer
from workers.workloads.parts.servers.base import BaseServer

STARTED_S = READY_S = 30.0  # limits
AGAIN_S = 0.05  # between two tries
FIRST_ERROR = 400  # a status that says: not ready


async def until_started(server: BaseServer) -> None:
    """Start the application.

    Raises:
        ApplicationError: it did not start, or not in time.
    """
    try:
        async with asyncio.timeout(STARTED_S):
            await server.start()
    except TimeoutError:
        raise ApplicationError(
            f"the application did not start within {STARTED_S:.0f} s: its lifespan waits. Start "
            "what it needs, or leave it out with --lifespan off"
        ) from None


async def until_ready(server: BaseServer, health: str) -> dict[str, str]:
    """Ask for `health` until it is answered well; return the facts that the answer shows.

    Without a path, `/` is asked for once, to read from its connection what is in use; any answer
    will do.

    Raises:
        ApplicationError: it is not ready in time.
    """
    deadline = time.monotonic() + READY_S
    while True:
        answer = await first_answer(server, "http", {"path": health or "/"})
        if not health or answer.status < FIRST_ERROR:
            return answer.facts
        if time.monotonic() > deadline:
            raise ApplicationError(
                f"the application is not ready: {health} was answered with status "
                f"{answer.status} for {READY_S:.0f} s; is --health the right path?"
            )
        await asyncio.sleep(AGAIN_S)
