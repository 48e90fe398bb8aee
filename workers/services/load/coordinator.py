"""The coordinator: starts the generator processes, gives them the same instants, and
collects what they counted.

It sends nothing itself. It holds the processes' standard inputs, so they end when it does. A
driver, if there is one, says by lines on standard input what to load and when.
"""

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import IO, Any

from workers.cell import schedule, share
from workers.services.load.options import Options, with_targets
from workers.services.load.part import Load, Part
from workers.services.load.request import Request
from workers.services.load.requests_list import request_from, require_sequence
from workers.services.serving import read_input

# ------------------------------------------------------------------------------------------- driver
# A driver's lines on standard input, and its end, which ends the program: the driver is gone.
#
# A thread reads from the start, so the end is noticed whatever the program is doing.

RESUME = {"resume": True}
WAIT_S = 0.2  # for input, before Python looks for a signal again


class Driver:
    """Reads standard input. `listens`: its lines are for us; else only its end matters."""

    def __init__(self, *, listens: bool) -> None:
        self._listens = listens
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._exit_code = 1
        self._received = b""  # of the next line
        read_input(self._take, self._end)

    def targets(self, options: Options) -> Options:
        """The options with the servers and requests of the next line.

        Raises:
            BadInputError: a server or request cannot be used.
            ValueError: the line is something else.
        """
        read = self._next()
        try:
            urls, asked = list(read["urls"]), list(read["requests"])
        except (KeyError, TypeError):
            raise ValueError(
                'expected a line {"urls": […], "requests": […]} on standard input'
            ) from None
        requests = [_request(each, place) for place, each in enumerate(asked, 1)]
        require_sequence(requests, "")
        options = with_targets(options, urls, requests or [Request()])
        self._lines.task_done()
        return options

    def instants(self) -> list[int]:
        """The instants of the next line (monotonic ns).

        Raises:
            ValueError: they are not at least two rising whole numbers, or the last has passed.
        """
        read = self._next()
        instants_ns = checked_instants(read)
        self._lines.task_done()
        return instants_ns

    def resumes(self) -> bool:
        """Return True if the next line asks for another slice; an empty object asks for the end.

        Raises:
            ValueError: it is something else.
        """
        read = self._next()
        if read not in ({}, RESUME):
            raise ValueError('expected a line {"resume": true} or {} on standard input')
        self._lines.task_done()
        return bool(read)

    def slice(self) -> tuple[list[int], bool]:
        """The instants of the next slice (monotonic ns), and whether it counts or is a warm-up.

        It may have passed, since the load is on already.

        Raises:
            ValueError: it is something else.
        """
        read = self._next()
        instants_ns = checked_instants(read, may_have_passed=True)
        self._lines.task_done()
        return instants_ns, bool(read.get("counts", True))

    def wait_for_end(self, exit_code: int) -> None:
        """End when standard input does: until then the driver can read our CPU time."""
        self._exit_code = exit_code
        while True:
            time.sleep(WAIT_S)

    def _next(self) -> Any:
        while True:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=WAIT_S)
                break
        try:
            return json.loads(line)
        except ValueError:
            return None

    def _take(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines if self._listens else ():
            self._lines.put(line)

    def _end(self) -> None:
        self._lines.join()  # a bad last line has its own exit code
        os._exit(self._exit_code)  # the generator processes end with their standard inputs


def _request(asked: Any, place: int) -> Request:
    """The request of a driver, with its line in a file, if it was in one."""
    line = asked.get("line", 0) if isinstance(asked, dict) else 0
    if line:
        asked = {name: value for name, value in asked.items() if name != "line"}
    return request_from(asked, f"request {place}", line)


def checked_instants(read: Any, *, may_have_passed: bool = False) -> list[int]:
    """The instants of a decoded line.

    Raises:
        ValueError: they are not at least two rising whole numbers, or the last has passed.
    """
    try:
        found = read["instants_ns"]
        rising = all(early < late for early, late in pairwise(found))
        good = len(found) > 1 and rising and all(type(each) is int for each in found)
    except (KeyError, TypeError):
        found, good = [], False
    if not good:
        raise ValueError('expected a line {"instants_ns": [first, …, last]} on standard input')
    if not may_have_passed and found[-1] < time.monotonic_ns():
        raise ValueError("the last instant has passed")
    return list(found)


# ---------------------------------------------------------------------------------------- processes

LEAD_NS = 30_000_000  # from reading the instants to the first request
SUB_WINDOWS = 10
END_S = 15.0  # after the last instant, and for connecting besides the time-out
CONNECT_S = 0.005  # for each connection: ten times what it takes where nothing else runs


class GeneratorError(Exception):
    """The load could not be sent; the message is one line for the user."""


def generate(options: Options, driver: Driver | None) -> tuple[list[dict[str, Any]], list[int]]:
    """Send the load; return the reports of all processes and the instants of their windows.

    The `driver` gives the servers, unless the options do, and the instants (monotonic ns); without
    one, they begin now and take `options.seconds`.

    Raises:
        GeneratorError: a server cannot be reached, or a process cannot be started or ended early.
        BadInputError: the driver's servers or requests cannot be used.
        ValueError: a line of the driver is not what was expected.
    """
    processes: list[subprocess.Popen[str]] = []
    try:
        while len(processes) < options.processes:
            processes.append(_start())
        if driver and not options.targets:  # meanwhile the processes do their imports
            options = driver.targets(options)
        connecting_s = options.timeout_s + END_S + CONNECT_S * options.connections
        with _bounded(processes, connecting_s, "not all connections were made"):
            for place, process in enumerate(processes):
                _send(process, part_of(options, place).document())
            for process in processes:
                _hear(process)
        if driver:
            print(json.dumps({"connections": options.connections}), flush=True)
            if options.slices:
                return _in_slices(processes, driver)
        return _at_once(processes, options, driver)
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _at_once(
    processes: Sequence["subprocess.Popen[str]"], options: Options, driver: Driver | None
) -> tuple[list[dict[str, Any]], list[int]]:
    """Send in one window, after the warm-up; return what `generate` does."""
    warmup_ns = int(options.warmup_s * 1e9)
    if driver:
        instants_ns = driver.instants()
    else:
        opens_ns = time.monotonic_ns() + LEAD_NS + warmup_ns
        instants_ns = schedule(opens_ns, options.seconds, SUB_WINDOWS)
    now_ns = time.monotonic_ns()
    if instants_ns[0] < now_ns:
        raise GeneratorError("the first instant has passed: nothing was sent")
    # A warm-up that begins late is shorter.
    begins_ns = max(instants_ns[0] - warmup_ns, min(now_ns + LEAD_NS, instants_ns[0]))
    left_s = (instants_ns[-1] - now_ns) / 1e9 + END_S
    with _bounded(processes, left_s, "a generator process did not end"):
        for process in processes:
            _send(process, {"begins_ns": begins_ns, "instants_ns": instants_ns})
        return [_hear(process) for process in processes], instants_ns


def _in_slices(
    processes: Sequence["subprocess.Popen[str]"], driver: Driver
) -> tuple[list[dict[str, Any]], list[int]]:
    """Send slice after slice, and print a line after each; return what `generate` does.

    The instants are as if one slice followed the other at once.
    """
    together_ns: list[int] = []
    while driver.resumes():
        with _bounded(processes, END_S, "a slice did not begin"):
            for process in processes:
                _send(process, RESUME)
            sending = sum(_hear(process)["sending"] for process in processes)
        print(json.dumps({"sending": sending}), flush=True)
        instants_ns, counts = driver.slice()
        left_s = max(0.0, (instants_ns[-1] - time.monotonic_ns()) / 1e9) + END_S
        with _bounded(processes, left_s, "a slice did not end"):
            for process in processes:
                _send(process, {"instants_ns": instants_ns, "counts": counts})
            sent = sum(_hear(process)["sent"] for process in processes)
        print(json.dumps({"sent": sent}), flush=True)
        if counts:
            gap_ns = instants_ns[0] - together_ns[-1] if together_ns else 0
            together_ns += [each - gap_ns for each in instants_ns[bool(together_ns) :]]
    with _bounded(processes, END_S, "a generator process did not end"):
        for process in processes:
            _send(process, {})
        return [_hear(process) for process in processes], together_ns


def part_of(options: Options, place: int) -> Part:
    """The part of the load that one process sends; connections are dealt as evenly as they go,
    those of a room to one process.
    """
    room = options.requests[0].room
    own = room * share(options.connections // room, place, options.processes)
    asked = {each.name: getattr(options, each.name) for each in fields(Load)}
    return Part(**asked | {"connections": own}, place=place)


def wait_for_input(stream: IO[Any]) -> None:
    """Wait until a stream can be read or has ended; none of its input is buffered.

    A signal that arrives just before a blocking read does not interrupt it, so wait in short steps.
    """
    if sys.platform == "win32":  # pipes cannot be polled there
        return
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while not poll.poll(WAIT_S * 1e3):
        pass


def _start() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "workers.services.load.generator"]
    pipe = subprocess.PIPE
    try:
        with _ctrl_c_blocked():
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    except OSError as error:
        raise GeneratorError(
            f"a generator process cannot be started: {error.strerror or error}"
        ) from None


@contextlib.contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Processes started meanwhile never get Ctrl-C, not even during their imports."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _send(process: "subprocess.Popen[str]", document: Mapping[str, Any]) -> None:
    """Write a line to a process. One that is gone has reported why, or is found gone later."""
    assert process.stdin
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(document) + "\n")
        process.stdin.flush()


def _hear(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout
    wait_for_input(process.stdout)
    line = process.stdout.readline()
    if not line:
        code = process.wait()
        raise GeneratorError(f"a generator process ended without a result (exit code {code})")
    document: dict[str, Any] = json.loads(line)
    if "failed" in document:
        raise GeneratorError(document["failed"])
    return document


@contextlib.contextmanager
def _bounded(
    processes: Sequence["subprocess.Popen[str]"], seconds: float, otherwise: str
) -> Iterator[None]:
    """Kill processes that are not done in time, which ends the wait for a line of theirs.

    Raises:
        GeneratorError: they were killed; the message begins with `otherwise`.
    """
    late = threading.Event()

    def kill() -> None:
        late.set()
        for process in processes:
            process.kill()

    watch = threading.Timer(seconds, kill)
    watch.daemon = True
    watch.start()
    try:
        yield
    except GeneratorError:
        if late.is_set():
            raise GeneratorError(f"{otherwise} within {seconds:.0f} s") from None
        raise
    finally:
        watch.cancel()
