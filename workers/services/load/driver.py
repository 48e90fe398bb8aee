"""A driver's lines on standard input, and its end, which ends the program: the driver is gone.

A thread reads from the start, so the end is noticed whatever the program is doing.
"""

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from workers.services.load.options import Options, with_targets
from workers.services.load.requests_list import Request, request_from

STDIN = 0
CHUNK_BYTES = 65_536
RESUME = {"resume": True}
WAIT_S = 0.2  # for a line, before Python looks for a signal again


class Slice(NamedTuple):
    """When a slice is (monotonic ns); one that does not count is a warm-up."""

    instants_ns: list[int]
    counts: bool


class Driver:
    """Reads standard input. `listens`: its lines are for us; else only its end matters."""

    def __init__(self, *, listens: bool) -> None:
        self._listens = listens
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._exit_code = 1
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

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
        requests = [request_from(each, f"request {place}") for place, each in enumerate(asked, 1)]
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
        """Whether the next line asks for another slice; an empty object asks for the end.

        Raises:
            ValueError: it is something else.
        """
        read = self._next()
        if read not in ({}, RESUME):
            raise ValueError('expected a line {"resume": true} or {} on standard input')
        self._lines.task_done()
        return bool(read)

    def slice(self) -> Slice:
        """When the slice is, by the next line; it may have passed, since the load is on already.

        Raises:
            ValueError: it is something else.
        """
        read = self._next()
        instants_ns = checked_instants(read, may_have_passed=True)
        self._lines.task_done()
        return Slice(instants_ns, counts=bool(read.get("counts", True)))

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

    def _read(self) -> None:
        received = b""
        # os.read: a daemon thread inside a buffered read breaks interpreter shutdown.
        with contextlib.suppress(OSError):  # a closed standard input counts as ended
            while data := os.read(STDIN, CHUNK_BYTES):
                *lines, received = (received + data).split(b"\n")
                for line in lines if self._listens else ():
                    self._lines.put(line)
        self._lines.join()  # a bad last line has its own exit code
        os._exit(self._exit_code)  # the generator processes end with their standard inputs


def checked_instants(read: Any, *, may_have_passed: bool = False) -> list[int]:
    """The instants of a decoded line. From another host they come as `in_ns`: so much later than
    now, since its clock says nothing here.

    Raises:
        ValueError: they are not at least two rising whole numbers, or the last has passed.
    """
    try:
        found = read["instants_ns"] if "instants_ns" in read else _from_now(read["in_ns"])
        rising = all(early < late for early, late in pairwise(found))
        good = len(found) > 1 and rising and all(type(each) is int for each in found)
    except (KeyError, TypeError):
        found, good = [], False
    if not good:
        raise ValueError('expected a line {"instants_ns": [first, …, last]} on standard input')
    if not may_have_passed and found[-1] < time.monotonic_ns():
        raise ValueError("the last instant has passed")
    return list(found)


def _from_now(in_ns: Sequence[int]) -> list[int]:
    now_ns = time.monotonic_ns()
    return [now_ns + each for each in in_ns]
