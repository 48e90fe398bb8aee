"""Waits until a command answers: its health path, or anything at all over HTTP."""

import http.client
import math
import time
from collections.abc import Callable, Sequence

from workers.cell import LOOPBACK
from workers.workloads.parts.first_request import FIRST_ERROR, FIRST_NOT_READY, READY_S, WRONG_S

AGAIN_S = 0.02  # between two tries
ANSWER_S = 5.0  # limit for one answer
# Workers that share a port cannot be asked one by one. Each is taken to need half as long again as
# the first one that answered, from the moment its loop was made.
SLOWER = 0.5


class NotReadyError(RuntimeError):
    """The command does not answer; the message says what it did instead."""


def wait_for_answer(port: int, health: str, check: Callable[[], None]) -> dict[str, str]:
    """Ask until there is an answer, with a `health` path a good one; return what it shows.

    `check` may end it.

    Raises:
        NotReadyError: there is none in time.
    """
    began = time.monotonic()
    answered = math.inf  # when the first answer came
    while True:
        check()
        status, facts = ask(port, health or "/")
        now = time.monotonic()
        if status and (not health or status < FIRST_ERROR):
            return facts
        if status:
            answered = min(answered, now)
        if FIRST_ERROR <= status < FIRST_NOT_READY and now - answered > WRONG_S:
            raise NotReadyError(_silence(status, health, WRONG_S))
        if now - began > READY_S:
            raise NotReadyError(_silence(status, health, READY_S))
        time.sleep(AGAIN_S)


def _silence(status: int, health: str, waited_s: float) -> str:
    if not status:
        return f"nothing answers on its port after {waited_s:.0f} s: does the command use {{port}}?"
    return (
        f"not ready: {health} was answered with status {status} for {waited_s:.0f} s; "
        "is --health the right path?"
    )


def ask(port: int, path: str) -> tuple[int, dict[str, str]]:
    """One request over a connection of its own: the status (0: no answer), facts for the record."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()
    facts = {"date_header": "on" if "date" in response.headers else "off"}
    if server := response.headers.get("server"):
        facts["server_header"] = server
    return response.status, facts


def settle_s(loops_ns: Sequence[int], answered_ns: int) -> float:
    """The seconds to wait after the first answer, so that the last worker is ready, too.

    `loops_ns` are when the workers' loops were made, in order.
    """
    if len(loops_ns) < 2:
        return 0.0
    needed_ns = answered_ns - loops_ns[0]
    last_ns = loops_ns[-1] + (1 + SLOWER) * needed_ns
    return max(0.0, last_ns - answered_ns) / 1e9
