"""A service as a program: one process or several, and one line of JSON once it answers.

The line is `{"urls": [...], "pid": ...}`.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from workers.host.open_files import raise_limit
from workers.services.serving.ending import stop_requested
from workers.services.serving.family import serve_together
from workers.services.serving.listening import listen
from workers.services.serving.loop import new_event_loop

# Serves on a socket while its block runs; gives the URL once it has answered a request.
type Serving = Callable[[socket.socket], AbstractAsyncContextManager[str]]


def serve(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    make: Callable[[], Serving],
    *,
    own: Sequence[str],
    welcome: str,
) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed).

    `make` imports and generates what is served, after the port is open. `own` are the names of the
    service's own options. `welcome` is printed for a person, with the URL in place of `{}`.
    """

    def announce(urls: list[str]) -> None:
        print(json.dumps({"urls": urls, "pid": os.getpid()}), flush=True)
        if not options.until_eof:
            places = " and ".join(welcome.format(url) for url in urls)
            print(f"{places}. Press Ctrl-C to stop.", file=sys.stderr, flush=True)

    if options.processes == 1:
        return _serve_alone(parser, options, make, announce)
    command = [
        parser.prog.removeprefix("python -m "),
        *(
            f"--{name.replace('_', '-')}={getattr(options, name)}"
            for name in (*own, *SHARED)
            if name in options
        ),
    ]
    first = options.port
    ports = [first + place if first else 0 for place in range(options.processes)]
    return asyncio.run(serve_together(command, ports, announce, until_eof=options.until_eof))


SHARED = ("delay_ms", "host")


def _serve_alone(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    make: Callable[[], Serving],
    announce: Callable[[list[str]], None],
) -> int:
    raise_limit()  # connections are open files
    try:
        listening = listen(options.host, options.port)
    except OSError as error:
        parser.error(f"cannot listen on {options.host}, port {options.port}: {error.strerror}")
    try:
        serving = make()
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: a package is missing: {error}\n")

    async def until_stopped() -> int:
        requested = stop_requested(until_eof=options.until_eof)
        async with serving(listening) as url:
            announce([url])
            await requested.wait()
        return 0

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(until_stopped())


def run_program(main: Callable[[Sequence[str]], int]) -> None:
    """Call a service's `main`, and end the process with its exit code."""
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before its signal handler was installed
        sys.exit(0)
    except BrokenPipeError:  # whoever started it is gone
        os._exit(0)
