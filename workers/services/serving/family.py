"""A service in several processes with a port each, for studies that one process could not serve.

The parent serves nothing: it starts the others, announces all their URLs, and holds their standard
inputs, so that they end when it ends, even if it is killed.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence

from workers.services.serving.ending import stop_requested

END_S = 5.0  # a process that has not ended by then is killed


async def serve_together(
    command: Sequence[str],
    ports: Sequence[int],
    announce: Callable[[list[str]], None],
    *,
    until_eof: bool,
) -> int:
    """Run `python -m COMMAND` once per port until asked to stop; return the exit code."""
    requested = stop_requested(until_eof=until_eof)
    children: list[Process] = []
    try:
        for port in ports:
            line = [sys.executable, "-m", *command, "--port", str(port)]
            children.append(
                await asyncio.create_subprocess_exec(*line, "--until-eof", stdin=PIPE, stdout=PIPE)
            )
        urls = []
        for child in children:
            ready = await child.stdout.readline() if child.stdout else b""
            if not ready:
                return await child.wait() or 1  # it has printed why
            urls += json.loads(ready)["urls"]
        announce(urls)
        return await _until_one_ends(requested, children)
    finally:
        await asyncio.gather(*map(_end, children))


async def _until_one_ends(requested: asyncio.Event, children: Sequence[Process]) -> int:
    """Wait for the request to stop (0), or for a process that ends before it (1)."""
    waiting = [asyncio.create_task(requested.wait())]
    ended = [asyncio.create_task(child.wait()) for child in children]
    await asyncio.wait([*waiting, *ended], return_when=asyncio.FIRST_COMPLETED)
    for task in (*waiting, *ended):
        task.cancel()
    return 0 if requested.is_set() else 1


async def _end(child: Process) -> None:
    if child.stdin:
        child.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
