"""A service as a program: options, socket, processes, one line of JSON once it answers, its end."""

import argparse
import asyncio
import contextlib
import importlib
import json
import math
import os
import signal
import socket
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from workers.cell import LOOPBACK
from workers.system import raise_limit

# ------------------------------------------------------------------------------------------- socket
# A service's listening socket, opened before anything slow is imported or generated.
#
# It names the protocol TCP: with protocol 0 asyncio would leave Nagle's algorithm on.

# Connections that Linux queues before they are accepted, by default (somaxconn).
BACKLOG = 4_096


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; with port 0 the system chooses one.

    Raises:
        OSError: no such host, or the port is in use or not permitted.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket, with a numeric address (nothing to resolve)."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# --------------------------------------------------------------------------------------------- loop
# The event loop of services, and of the clients that measure them: the fastest installed.

SHORTEST_S = 0.001  # uvloop rounds shorter waits to 0, and a loop would spin


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make a uvloop if it is installed, else asyncio's own loop."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def until(at_ns: int) -> None:
    """Sleep until a monotonic time, or a little longer: uvloop's timers may fire early."""
    while (left_ns := at_ns - time.monotonic_ns()) > 0:  # noqa: ASYNC110 - of time, not of an event
        await asyncio.sleep(max(left_ns / 1e9, SHORTEST_S))


# ------------------------------------------------------------------------------------------- ending
# A request to stop a service: a signal, or the end of its standard input.
#
# A process that starts it with `--until-eof` holds the other end of a pipe. When that process ends,
# killed or not, the pipe ends, and so does the service.

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STDIN = 0
CHUNK_BYTES = 65_536


def stop_requested(
    *, until_eof: bool, signals: Sequence[signal.Signals] = SIGNALS
) -> asyncio.Event:
    """Return an event of the running loop that is set when the service has to stop."""
    loop = asyncio.get_running_loop()
    requested = asyncio.Event()
    for number in signals:
        try:
            loop.add_signal_handler(number, requested.set)
        except NotImplementedError:  # Windows: there KeyboardInterrupt ends the loop
            break

    def ended() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the service has ended
            loop.call_soon_threadsafe(requested.set)

    if until_eof:
        read_input(lambda _: None, ended)
    return requested


def read_input(take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
    """Read standard input from now on; call `take` for each piece, and `ended` at its end.

    Both are called in a thread, since files and terminals cannot be polled on every loop.
    """

    def read() -> None:
        # os.read: a daemon thread inside a buffered read of sys.stdin breaks interpreter shutdown.
        with contextlib.suppress(OSError):  # a closed standard input counts as ended
            while data := os.read(STDIN, CHUNK_BYTES):
                take(data)
        ended()

    threading.Thread(target=read, name="stdin", daemon=True).start()


# ------------------------------------------------------------------------------------------ options
# The command-line options that every service has.

PORT_MOST = 65_535


def program_parser(module: str, description: str) -> argparse.ArgumentParser:
    """The parser of `python -m MODULE`, to which a service adds options."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, allow_abbrev=False
    )
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    return parser


def server_parser(
    module: str, description: str, *, delay_ms: float | None
) -> argparse.ArgumentParser:
    """The parser of a service in Python; `delay_ms` is its default delay, None: it never waits."""
    parser = program_parser(module, description)
    add = parser.add_argument
    if delay_ms is not None:
        delay_help = f"delay before an answer, ms ({delay_ms:g})"
        add("--delay-ms", type=DELAY_MS, default=delay_ms, help=delay_help)
    add("--host", default=LOOPBACK, help=f"address to listen on ({LOOPBACK})")
    add("--port", type=between(int, 0, PORT_MOST), default=0, help="port; 0: any free one (0)")
    processes_help = "number of processes, each with its own port (1)"
    add("--processes", type=COUNT, default=1, help=processes_help)
    return parser


def read_options(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; a bad one ends the program with exit code 2."""
    options = parser.parse_args(arguments)
    if options.port and options.port + options.processes - 1 > PORT_MOST:
        parser.error(
            f"--port {options.port}: {options.processes} ports from there end above {PORT_MOST}"
        )
    return options


def between[T: (int, float)](
    kind: Callable[[str], T], least: float, most: float = math.inf
) -> Callable[[str], T]:
    """A parser of an option that is a number of that kind, within bounds (nan never is)."""

    def read(text: str) -> T:
        try:
            number = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
        else:
            if least <= number <= most:
                return number
            expected = f"at least {least:g}" if most == math.inf else f"{least:g} to {most:,.0f}"
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")

    return read


COUNT = between(int, 1)
BODY_BYTES = between(int, 0, 1 << 30)  # of an answer
DELAY_MS = between(float, 0, 60_000)


# ------------------------------------------------------------------------------------------- family
# A service in several processes with a port each, for studies that one process could not serve.
#
# The parent serves nothing: it starts the others, announces all their URLs, and holds their
# standard inputs, so that they end when it ends, even if it is killed.

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


# ------------------------------------------------------------------------------------------ program

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
