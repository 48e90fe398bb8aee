"""A local server as several processes, a port each, for studies that one process could not feed.

The parent serves nothing: it starts the others, announces their URLs together, and holds their
standard inputs, so that they end when it does, however that comes about.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence

from workers.services.serving.ending import told_to_end

END_S = 5.0  # for a process to end by itself before it is killed


async def serve_together(
    command: Sequence[str],
    ports: Sequence[int],
    announce: Callable[[list[str]], None],
    *,
    until_eof: bool,
) -> int:
    """Run `python -m COMMAND` once per port until told to end; return the exit code."""
    told = told_to_end(until_eof=until_eof)
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
                return await child.wait() or 1  # it has said why
            urls += json.loads(ready)["urls"]
        announce(urls)
        return await _until_one_ends(told, children)
    finally:
        await asyncio.gather(*map(_end, children))


async def _until_one_ends(told: asyncio.Event, children: Sequence[Process]) -> int:
    """Wait for the word to end (0) or for a process that ended without it (1)."""
    waiting = [asyncio.create_task(told.wait())]
    ended = [asyncio.create_task(child.wait()) for child in children]
    await asyncio.wait([*waiting, *ended], return_when=asyncio.FIRST_COMPLETED)
    for task in (*waiting, *ended):
        task.cancel()
    return 0 if told.is_set() else 1


async def _end(child: Process) -> None:
    if child.stdin:
        child.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
