"""Sends each request of a set to all workers, one by one, then at once, and keeps the answers.

Or at once from the beginning, so that all workers get their first requests at one instant.

It takes the place of the load generator: all is done before the window, while the child waits.
"""

import contextlib
import http.client
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from scaling.analysis.safety import Answer
from scaling.journal.record import Load
from scaling.run.load import LoadError
from scaling.run.requests_file import send

PASSES = 2  # of each request, one by one, at every worker
ALONE_S = 2.0  # limit for passes after the first
CONNECTIONS = 4  # to each worker, and at least as many for all as the next says
AT_LEAST = 8
ANSWER_S = 4.0  # limit for answers to requests sent at once; after a missing one it gives up
ACCEPTED_S = 0.05  # by then the workers have accepted their connections
SHORTEST_S = 0.05  # for an answer that is there when the deadline has passed
KEPT = 2_000  # different answers of a request,
KEPT_BYTES = 64 * 2**20  # and bytes of all


class Checker:
    """The client of one run. `given_up`: a request had no answer."""

    def __init__(self, requests: Sequence[Mapping[str, Any]], together_s: float | None) -> None:
        """`together_s` is how long requests are sent at once; None: each once, to all workers."""
        self._requests = requests
        self._together_s = together_s
        self.given_up = False
        self._killed = False
        self._kept_bytes = 0
        self._answers: list[dict[Answer, None]] = [{} for _ in requests]

    @property
    def answers(self) -> list[list[Answer]]:
        """The different answers of each request, in the order in which they first came."""
        return [list(each) for each in self._answers]

    def start(self) -> None:
        """Nothing to start."""

    def connect(self, urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
        """Send everything; the workload's own `requests` are not used.

        Raises:
            LoadError: a request had no answer, so the servers may hang: the run is of no more use.
        """
        del requests
        each = max(CONNECTIONS, AT_LEAST // len(urls))
        connections = [_connection(url) for url in urls for _ in range(each)]
        try:
            if self._together_s is None:
                self._first(connections[::each])
            else:
                self._one_by_one(connections[::each])
                self._at_once(connections, self._together_s)
        finally:
            for connection in connections:
                connection.close()
        if self.given_up:
            raise LoadError("a request was not answered")

    def begin(self, instants_ns: Sequence[int]) -> None:
        """Nothing is sent in the window."""

    def resume(self) -> None:
        """Nothing is sent in a slice."""

    def pause(self) -> float:
        """Nothing is in flight after one."""
        return 0.0

    def cpu_s(self) -> float:
        """It is a part of the driver, which is not measured."""
        return 0.0

    def result(self) -> Load:
        """No load was measured."""
        return Load()

    def kill(self) -> None:
        """Send no more."""
        self._killed = True

    def close(self) -> None:
        """Its connections are closed already."""

    def _one_by_one(self, connections: Sequence[http.client.HTTPConnection]) -> None:
        """Every request once, to one worker after the other, then all to all as time allows."""
        until = None
        for turn in range(len(connections) * PASSES):
            for place in range(len(self._requests)):
                if self._over(until):
                    return
                connection = connections[(place + turn) % len(connections)]
                self._try_to_send(connection, place)
                self._keep(place, self._answer(connection, place, time.monotonic() + ANSWER_S))
            until = until or time.monotonic() + ALONE_S

    def _at_once(
        self, connections: Sequence[http.client.HTTPConnection], together_s: float
    ) -> None:
        """A request on every connection, then all their answers, again and again."""
        choices = random.Random(1)
        until = time.monotonic() + together_s
        while not self._over(until):
            places = choices.choices(range(len(self._requests)), k=len(connections))
            self._exchange(list(zip(connections, places, strict=True)))

    def _first(self, connections: Sequence[http.client.HTTPConnection]) -> None:
        """One request after the other, each to all workers at one instant."""
        for connection in connections:
            with contextlib.suppress(OSError):  # sending says so
                connection.connect()
        time.sleep(ACCEPTED_S)
        for place in range(len(self._requests)):
            if not self._over(None):
                self._exchange([(connection, place) for connection in connections])

    def _exchange(self, pairs: Sequence[tuple[http.client.HTTPConnection, int]]) -> None:
        """Send a request on each connection, then read the answers."""
        for connection, place in pairs:
            self._try_to_send(connection, place)
        deadline = time.monotonic() + ANSWER_S
        for connection, place in pairs:
            self._keep(place, self._answer(connection, place, deadline))

    def _over(self, until: float | None) -> bool:
        late = until is not None and time.monotonic() > until
        return late or self.given_up or self._killed

    def _answer(
        self, connection: http.client.HTTPConnection, place: int, deadline: float
    ) -> Answer:
        """The answer to a request that was sent, or is now."""
        if connection.sock:
            connection.sock.settimeout(max(SHORTEST_S, deadline - time.monotonic()))
        try:
            try:
                return _read(connection)
            except (ConnectionError, http.client.ResponseNotReady):
                # It was idle for so long that the server has closed it.
                connection.close()
                self._send(connection, place)
                return _read(connection)
        except TimeoutError:
            failure = f"no answer within {ANSWER_S:.0f} s"
        except (OSError, http.client.HTTPException) as error:
            failure = f"no answer: {type(error).__name__}: {error}"
        connection.close()
        return Answer(failure=failure)

    def _try_to_send(self, connection: http.client.HTTPConnection, place: int) -> None:
        try:
            self._send(connection, place)
        except OSError:  # `_answer` sends it again, once it is closed
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, place: int) -> None:
        send(connection, self._requests[place])

    def _keep(self, place: int, answer: Answer) -> None:
        self.given_up |= bool(answer.failure)
        kept = self._answers[place]
        if answer not in kept and len(kept) < KEPT and self._kept_bytes < KEPT_BYTES:
            kept[answer] = None
            self._kept_bytes += len(answer.body)


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)


def _read(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    body = response.read()
    headers = tuple((name.lower(), value) for name, value in response.getheaders())
    return Answer(status=response.status, headers=headers, body=body)
