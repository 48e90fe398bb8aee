"""A service that starts a program: options, one line of JSON once it answers, its end."""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from workers.services.native.process import NativeError, Server

STDIN = 0
CHUNK_BYTES = 4_096


@dataclass(frozen=True)
class Announced:
    """Where a service answers, what runs there, and its server; None: one that was there before."""

    urls: list[str]
    facts: dict[str, str] = field(default_factory=dict)
    server: Server | None = None


type Running = Callable[[], AbstractAsyncContextManager[Announced]]


def native_parser(module: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of `python -m MODULE`; a service adds its own options."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, allow_abbrev=False
    )
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    return parser


def say(text: str) -> None:
    """Report what takes a while; whoever waits then waits on."""
    print(json.dumps({"doing": text}), flush=True)


def run(parser: argparse.ArgumentParser, *, until_eof: bool, running: Running) -> int:
    """Serve until asked to stop; return the exit code (1: failed, with one line that says why)."""
    try:
        asyncio.run(_run(running, until_eof=until_eof))
    except (NativeError, OSError, subprocess.SubprocessError) as error:
        parser.exit(1, f"{error}\n")
    return 0


async def _run(running: Running, *, until_eof: bool) -> None:
    requested = _stop_requested(until_eof=until_eof)
    serving = asyncio.create_task(_until_it_ends(running))
    stop = asyncio.create_task(requested.wait())
    await asyncio.wait([serving, stop], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    serving.cancel()  # harmless once it is done
    try:
        await serving
    except asyncio.CancelledError:
        return


async def _until_it_ends(running: Running) -> None:
    async with running() as announced:
        server = announced.server
        line = {
            "urls": announced.urls,
            "pid": server.process.pid if server else 0,
            "facts": announced.facts,
        }
        print(json.dumps(line), flush=True)
        if server:
            raise NativeError(await server.ended())
        await asyncio.Event().wait()


def _stop_requested(*, until_eof: bool) -> asyncio.Event:
    """Return an event that is set by a signal, or when standard input ends.

    Without a thread, unlike `workers.services.serving.program`: this process forks.
    """
    loop, requested = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        if not os.read(STDIN, CHUNK_BYTES):
            loop.remove_reader(STDIN)
            requested.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, requested.set)
    if until_eof:
        try:
            loop.add_reader(STDIN, read)
        except OSError:  # a file, which cannot be waited for
            requested.set()
    return requested


def run_program(main: Callable[[], int]) -> None:
    """Call a service's `main`, and end the process with its exit code."""
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever started it is gone
        os._exit(1)
