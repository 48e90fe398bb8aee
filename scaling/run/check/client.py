"""The client of a check: sends the requests of one run, and keeps their answers.

It takes the place of the load generator: all is sent before the window, while the child waits.
"""

import asyncio
import contextlib
import hashlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.request import Request

from scaling.analysis.check.answers import Answer
from scaling.run.check.connection import Connection, RequestDocument
from scaling.run.check.saved import NothingThereError, cookies, filled, saved
from scaling.run.load_client import Client, LoadError
from scaling.run.probe import Phase
from scaling.run.redaction import spellings

FEWEST = 8  # requests in a sequence: a short list is repeated more than twice
AGAIN_S = 2.0  # limit for repetitions of the list in a sequence whose length is open
CONNECTIONS = 4  # to each worker, and at least as many for all as the next says
AT_LEAST = 8
ANSWER_S = 4.0  # limit for answers to requests sent at once; after a missing one it gives up
ACCEPTED_S = 0.05  # by then the workers have accepted their connections
KEPT = 2_000  # different answers of a request,
KEPT_BYTES = 64 * 2**20  # and bytes of all
LOOPBACK = "127.0.0.1"
LONGEST = 2**20  # bytes of a body in a sequence: a longer one is compared as a whole

type WorkerOf = Callable[[int], int]  # the worker that gets the request at a position


def always(worker: int) -> WorkerOf:
    """The same worker gets all requests."""
    return lambda _: worker


@dataclass(frozen=True, kw_only=True)
class Sending:
    """What is sent in one run, part after part.

    First a sequence: the list of requests again and again, each request once the one before it is
    answered, by one client that keeps its cookies and what it saves; `worker_of` says which worker
    gets it. `length` is how many requests that are; None: the list `repeated`, at least once, as
    time allows. Then requests at once for `together_s`, or with `first` each once, to all workers
    at one instant.
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
        self.unsaved: dict[
            int, str
        ] = {}  # by the place of a request: what its first answer has not
        self._cookies = CookieJar()
        self._values: dict[str, str] = {}  # that were saved last
        self._secrets: set[str] = set()
        self._sent_with_cookies: dict[int, None] = {}

    @property
    def answers(self) -> list[list[Answer]]:
        """The different answers of each request, in the order in which they first came."""
        return [list(each) for each in self._answers]

    @property
    def secrets(self) -> set[str]:
        """What answers set as cookies, and what was saved of them, in each spelling."""
        return spellings(self._secrets)

    async def at(self, phase: Phase) -> dict[str, Any]:
        """Send everything when the workers answer; the workload's own requests are not used."""
        if phase.name == "serving":
            sending = asyncio.create_task(asyncio.to_thread(self.send_all, phase.facts["urls"]))
            try:
                await asyncio.shield(sending)
            finally:  # once it is killed, its thread ends before the answers are looked at
                await asyncio.wait((sending,))
        return {}

    def send_all(self, urls: Sequence[str]) -> None:
        """Send everything to these servers.

        Raises:
            LoadError: a request had no answer, so the servers may hang: the run is of no more use.
        """
        each = max(CONNECTIONS, AT_LEAST // len(urls))
        connections = [Connection(url, ANSWER_S) for url in urls for _ in range(each)]
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

    def _in_sequence(self, connections: Sequence[Connection], worker_of: WorkerOf) -> None:
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
            connection.send(request)
            answer = connection.answer(request, time.monotonic() + ANSWER_S)
            self._cookies.extract_cookies(_as_response(answer), _as_browser(request))  # type: ignore[arg-type]
            self._keep(place, answer)
            self.sequence.append(_bounded(answer))

    def _at_once(self, connections: Sequence[Connection], together_s: float) -> None:
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

    def _first(self, connections: Sequence[Connection]) -> None:
        """One request after the other, each to all workers at one instant."""
        for connection in connections:
            with contextlib.suppress(OSError):  # sending says so
                connection.connect()
        time.sleep(ACCEPTED_S)
        for place in range(len(self._requests)):
            if not self._over(None):
                self._exchange([(connection, place) for connection in connections])

    def _exchange(self, pairs: Sequence[tuple[Connection, int]]) -> None:
        """Send a request on each connection, then read the answers.

        What they save is what requests after these are sent with.
        """
        sent = [(each, place, filled(self._requests[place], self._values)) for each, place in pairs]
        for connection, _, request in sent:
            connection.send(request)
        deadline = time.monotonic() + ANSWER_S
        for connection, place, request in sent:
            answer = connection.answer(request, deadline)
            self.at_once[place].add(answer.status)
            self._keep(place, answer)

    def _over(self, until: float | None) -> bool:
        late = until is not None and time.monotonic() > until
        return late or self.given_up or self._killed

    def _with_cookies(self, place: int) -> RequestDocument:
        """A request with the cookies that answers have set, unless it has its own."""
        request = filled(self._requests[place], self._values)
        browser = _as_browser(request)
        if browser.has_header("Cookie"):
            return request
        self._cookies.add_cookie_header(browser)
        cookie = browser.get_header("Cookie")
        if cookie is None:
            return request
        self._sent_with_cookies[place] = None
        return {**request, "headers": {**request.get("headers", {}), "cookie": cookie}}

    def _keep(self, place: int, answer: Answer) -> None:
        self.given_up |= bool(answer.failure)
        self._secrets.update(cookies(answer).values())
        try:
            found = saved(self._requests[place], answer)
            self._values |= found
            self._secrets.update(found.values())
        except NothingThereError as nothing:
            if len(self.sequence) < len(self._requests):  # a later answer may be another one
                self.unsaved[place] = str(nothing)
        kept = self._answers[place]
        if answer not in kept and len(kept) < KEPT and self._kept_bytes < KEPT_BYTES:
            kept[answer] = None
            self._kept_bytes += len(answer.body)


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
    path = request.get("websocket") or request.get("path") or "/"
    return Request(f"https://{host}{path}", headers=dict(headers))


def _as_response(answer: Answer) -> SimpleNamespace:
    """An answer as the jar of cookies reads it."""
    message = Message()
    for name, value in answer.headers:
        message[name] = value
    return SimpleNamespace(info=lambda: message)
