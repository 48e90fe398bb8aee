"""Sends requests at fixed times and keeps the outcome of each: for the seconds around a fault."""

import contextlib
import http.client
import select
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scaling.run.path_redaction import LOOPBACK
from scaling.run.requests_file import send

WHO = "/__scaling/who"  # answered with the loop's name (workers/outside/faulty.py)
BLOCK = "/__scaling/block?{}"  # for so many seconds
KILL = "/__scaling/kill"
LIMIT_S = 10.0
PER_LOOP, TRIES = 8, 100
AWAY_S = 0.1

type Fate = Literal["answered", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: the loop it was sent to (empty: refused), when it was due and when it ended."""

    loop: str
    due_s: float
    ended_s: float
    fate: Fate


class FaultClient:
    """So many connections, each with its share of an open loop's requests, in a thread each."""

    def __init__(
        self, port: int, requests: Sequence[Mapping[str, Any]], loops: int, rate_per_s: float
    ) -> None:
        """Connect to all `loops` evenly, then begin.

        Raises:
            OSError: nobody listens.
        """
        made = evenly(port, loops)
        connections = len(made)
        self.sent: list[Sent] = []
        self._port = port
        self._requests = requests
        self._every_s = connections / rate_per_s
        self._stop = threading.Event()
        start_s = time.monotonic() + 0.1
        self._threads = [
            threading.Thread(
                target=self._send,
                args=(start_s + index / rate_per_s, index, *each),
                daemon=True,
            )
            for index, each in enumerate(made)
        ]
        for each in self._threads:
            each.start()

    def stop(self) -> list[Sent]:
        """End; all that was sent."""
        self._stop.set()
        for each in self._threads:
            each.join(LIMIT_S)
        return sorted(self.sent, key=lambda each: each.due_s)

    def _send(
        self, due_s: float, index: int, made: http.client.HTTPConnection | None, loop: str
    ) -> None:
        while not self._stop.wait(max(0.0, due_s - time.monotonic())):
            fate: Fate = "answered"
            try:
                if made is None or is_closed(made):
                    if made:
                        made.close()
                    made, loop = None, ""
                    made = connection(self._port)
                    loop = ask(made, WHO)
                send(made, self._requests[index % len(self._requests)])
                answer = made.getresponse()
                answer.read()
                if answer.will_close:
                    made.close()
                    made = None
            except (OSError, http.client.HTTPException):
                fate = "lost" if loop else "refused"
                if made:
                    made.close()
                made = None
            self.sent.append(Sent(loop, due_s, time.monotonic(), fate))
            due_s += self._every_s
            index += 1
        if made:
            made.close()


def evenly(port: int, loops: int) -> list[tuple[http.client.HTTPConnection, str]]:
    """The same number of connections to each loop, with its name.

    Of processes with one listener, the kernel prefers one that is idle. One that has its share is
    therefore blocked for a moment.
    """
    found: dict[str, list[http.client.HTTPConnection]] = {}
    for _ in range(TRIES):
        made = connection(port)
        of_loop = found.setdefault(ask(made, WHO), [])
        if len(of_loop) < PER_LOOP:
            of_loop.append(made)
        else:
            threading.Thread(target=_block, args=(made,)).start()
            time.sleep(AWAY_S / 2)
        if len(found) == loops and all(len(each) == PER_LOOP for each in found.values()):
            break
    return [(made, loop) for loop, of_loop in found.items() for made in of_loop]


def _block(made: http.client.HTTPConnection) -> None:
    with (
        contextlib.closing(made),
        contextlib.suppress(OSError, http.client.HTTPException),
    ):
        ask(made, BLOCK.format(AWAY_S))


def is_closed(made: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection: a client does not send on it."""
    return made.sock is None or bool(select.select([made.sock], [], [], 0)[0])


def connection(port: int) -> http.client.HTTPConnection:
    """A connection to the server.

    Raises:
        OSError: nobody listens.
    """
    made = http.client.HTTPConnection(LOOPBACK, port, timeout=LIMIT_S)
    made.connect()
    return made


def ask(made: http.client.HTTPConnection, path: str) -> str:
    """The body of an answer."""
    made.request("GET", path)
    return made.getresponse().read().decode(errors="replace")


def have(port: int, path: str) -> str:
    """Ask on a connection of its own; empty if there was no answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        made = connection(port)
        with contextlib.closing(made):
            return ask(made, path)
    return ""
