"""The client of a check: sends the requests of one run, and keeps their answers.

It takes the place of the load generator: all is sent before the window, while the child waits.
"""

import contextlib
import hashlib
import http.client
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

from scaling.analysis.check.answers import BROKEN, Answer
from scaling.run.app_requests import send
from scaling.run.load import Client, LoadError

FEWEST = 8  # requests in a sequence: a short list is repeated more than twice
AGAIN_S = 2.0  # limit for repetitions of the list in a sequence whose length is open
CONNECTIONS = 4  # to each worker, and at least as many for all as the next says
AT_LEAST = 8
ANSWER_S = 4.0  # limit for answers to requests sent at once; after a missing one it gives up
LATE = "no answer within"
ACCEPTED_S = 0.05  # by then the workers have accepted their connections
SHORTEST_S = 0.05  # for an answer that is there when the deadline has passed
KEPT = 2_000  # different answers of a request,
KEPT_BYTES = 64 * 2**20  # and bytes of all
LOOPBACK = "127.0.0.1"
LONGEST = 2**20  # bytes of a body in a sequence: a longer one is compared as a whole

type RequestDocument = Mapping[str, Any]
type WorkerOf = Callable[[int], int]  # the worker that gets the request at a position


def always(worker: int) -> WorkerOf:
    """The same worker gets all requests."""
    return lambda _: worker


@dataclass(frozen=True, kw_only=True)
class Sending:
    """What is sent in one run, part after part.

    First a sequence: the list of requests again and again, each request once the one before it is
    answered, by one client that keeps its cookies; `worker_of` says which worker gets it. `length`
    is how many requests that are; None: the list `repeated`, at least once, as time allows. Then
    requests at once for `together_s`, or with `first` each once, to all workers at one instant.
    """

    worker_of: WorkerOf | None = None
    length: int | None = None
    repeated: int = 2
    together_s: float = 0.0
    first: bool = False


class CheckClient(Client):
    """The client of one run, in the driver. `given_up`: a request had no answer.

    `sequence` are the answers by position. `at_once` are the statuses of each request where several
    were sent at once.
    """

    def __init__(self, requests: Sequence[RequestDocument], sending: Sending) -> None:
        self._requests = requests
        self._sending = sending
        self.given_up = False
        self.sequence: list[Answer] = []
        self.at_once: list[set[int]] = [set() for _ in requests]
        self._killed = False
        self._kept_bytes = 0
        self._answers: list[dict[Answer, None]] = [{} for _ in requests]
        self._cookies = CookieJar()
        self._sent_with_cookies: dict[int, None] = {}

    @property
    def answers(self) -> list[list[Answer]]:
        """The different answers of each request, in the order in which they first came."""
        return [list(each) for each in self._answers]

    @property
    def secrets(self) -> set[str]:
        """What its cookies hold."""
        return {each.value for each in self._cookies if each.value}

    def connect(self, urls: Sequence[str], requests: Sequence[RequestDocument]) -> None:
        """Send everything; the workload's own `requests` are not used.

        Raises:
            LoadError: a request had no answer, so the servers may hang: the run is of no more use.
        """
        del requests
        each = max(CONNECTIONS, AT_LEAST // len(urls))
        connections = [_connection(url) for url in urls for _ in range(each)]
        sending = self._sending
        try:
            if sending.worker_of:
                self._in_sequence(connections[::each], sending.worker_of)
            if sending.first:
                self._first(connections[::each])
            if sending.together_s:
                self._at_once(connections, sending.together_s)
        finally:
            for connection in connections:
                connection.close()
        if self.given_up:
            raise LoadError("a request was not answered")

    def kill(self) -> None:
        """Send no more."""
        self._killed = True

    def _in_sequence(
        self, connections: Sequence[http.client.HTTPConnection], worker_of: WorkerOf
    ) -> None:
        """The list again and again, one request after the other."""
        own, length, until = len(self._requests), self._sending.length, None
        most = max(self._sending.repeated * own, FEWEST) if length is None else length
        for position in range(most):
            if position == own and length is None:
                until = time.monotonic() + AGAIN_S
            if self._over(until):
                return
            place, connection = position % own, connections[worker_of(position)]
            request = self._with_cookies(place)
            self._try_to_send(connection, request)
            answer = self._answer(connection, request, time.monotonic() + ANSWER_S)
            self._cookies.extract_cookies(_as_response(answer), _as_browser(request))  # type: ignore[arg-type]
            self._keep(place, answer)
            self.sequence.append(_bounded(answer))

    def _at_once(
        self, connections: Sequence[http.client.HTTPConnection], together_s: float
    ) -> None:
        """A request on every connection, then all their answers, again and again.

        They are sent without cookies; those that were sent with them in the sequence come first.
        """
        places = self._drawn()
        until = time.monotonic() + together_s
        while not self._over(until):
            self._exchange([(each, next(places)) for each in connections])

    def _drawn(self) -> Iterator[int]:
        choices = random.Random(1)
        yield from self._sent_with_cookies
        yield from (choices.randrange(len(self._requests)) for _ in count())

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
            self._try_to_send(connection, self._requests[place])
        deadline = time.monotonic() + ANSWER_S
        for connection, place in pairs:
            answer = self._answer(connection, self._requests[place], deadline)
            self.at_once[place].add(answer.status)
            self._keep(place, answer)

    def _over(self, until: float | None) -> bool:
        late = until is not None and time.monotonic() > until
        return late or self.given_up or self._killed

    def _with_cookies(self, place: int) -> RequestDocument:
        """A request with the cookies that answers have set, unless it has its own."""
        request = self._requests[place]
        browser = _as_browser(request)
        if browser.has_header("Cookie"):
            return request
        self._cookies.add_cookie_header(browser)
        cookie = browser.get_header("Cookie")
        if cookie is None:
            return request
        self._sent_with_cookies[place] = None
        return {**request, "headers": {**request.get("headers", {}), "cookie": cookie}}

    def _answer(
        self, connection: http.client.HTTPConnection, request: RequestDocument, deadline: float
    ) -> Answer:
        """The answer to a request that was sent, or is now."""
        if connection.sock:
            connection.sock.settimeout(max(SHORTEST_S, deadline - time.monotonic()))
        closed: Exception | None = None
        try:
            try:
                return _read(connection)
            except (ConnectionError, http.client.ResponseNotReady) as error:
                # It was idle for so long that the server has closed it; or the server is gone.
                closed = error
                connection.close()
                send(connection, request)
                return _read(connection)
        except TimeoutError:
            failure = f"{LATE} {ANSWER_S:.0f} s"
            if isinstance(closed, ConnectionError):
                failure = f"no answer: {type(closed).__name__}: {closed}"
        except http.client.IncompleteRead as error:
            failure = f"{BROKEN} after {len(error.partial):,} bytes"
        except (OSError, http.client.HTTPException) as error:
            failure = f"no answer: {type(error).__name__}: {error}"
        connection.close()
        return Answer(failure=failure)

    def _try_to_send(
        self, connection: http.client.HTTPConnection, request: RequestDocument
    ) -> None:
        try:
            send(connection, request)
        except OSError:  # `_answer` sends it again, once it is closed
            connection.close()

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


def _bounded(answer: Answer) -> Answer:
    """The answer, of a long body with its digest alone: sequences of several runs are kept."""
    if len(answer.body) <= LONGEST:
        return answer
    digest = hashlib.sha256(answer.body).hexdigest().encode()
    return Answer(status=answer.status, headers=answer.headers, body=digest)


def _as_browser(request: RequestDocument) -> Request:
    """A request as the jar of cookies reads it, with TLS: `Secure` cookies belong to it, too."""
    headers = request.get("headers", {})
    host = next((value for name, value in headers.items() if name.lower() == "host"), LOOPBACK)
    return Request(f"https://{host}{request.get('path') or '/'}", headers=dict(headers))


def _as_response(answer: Answer) -> SimpleNamespace:
    """An answer as the jar of cookies reads it."""
    message = Message()
    for name, value in answer.headers:
        message[name] = value
    return SimpleNamespace(info=lambda: message)
