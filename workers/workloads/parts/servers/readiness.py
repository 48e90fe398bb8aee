"""Waits until a worker's application has started and is ready: its health path answers."""

import asyncio
import time

from workers.workloads.parts.applications import ApplicationError
from workers.workloads.parts.first_request import first_answer
from workers.workloads.parts.servers.base import BaseServer

STARTED_S = READY_S = 30.0  # limits
WRONG_S = 5.0  # for a path that gives no answer, or one that says that there is no such path
AGAIN_S = 0.05  # between two tries
FIRST_ERROR, FIRST_NOT_READY = 400, 500  # statuses


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
    began = time.monotonic()
    while True:
        try:
            async with asyncio.timeout(WRONG_S if health else None):
                answer = await first_answer(server, "http", {"path": health or "/"})
        except TimeoutError:
            raise _not_ready(f"{health} was not answered within {WRONG_S:.0f} s") from None
        if not health or answer.status < FIRST_ERROR:
            return answer.facts
        limit_s = READY_S if answer.status >= FIRST_NOT_READY else WRONG_S
        if time.monotonic() - began > limit_s:
            what = f"{health} was answered with status {answer.status} for {limit_s:.0f} s"
            raise _not_ready(what)
        await asyncio.sleep(AGAIN_S)


def _not_ready(what: str) -> ApplicationError:
    return ApplicationError(f"the application is not ready: {what}; is --health the right path?")
