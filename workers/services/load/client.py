"""`python -m workers.services.load.client`: sends requests, and prints the answers.

A check of an application compares them. Standard input has one line with the requests (`Client`);
one line is printed with all answers. SIGTERM ends the sending.
"""

import asyncio
import contextlib
import hashlib
import json
import random
import signal
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.cookiejar import CookieJar
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib import request as browser

from workers.cell import LOOPBACK
from workers.services.load.generator import http
from workers.services.load.lane import ConnectionMaker, Lane, Message, opener
from workers.services.load.part import message_of
from workers.services.load.request import Request
from workers.services.load.sequence import Answer, NothingThereError, filled, saved
from workers.services.load.tally import Window
from workers.services.load.targets import Target, parse_target
from workers.system import end_with_the_parent

CONNECTIONS = 4  # to each worker, and at least as many for all as the next says
AT_LEAST = 8
ACCEPTED_S = 0.05  # by then the workers have accepted their connections
KEPT = 2_000  # different answers of a request,
KEPT_BYTES = 64 * 2**20  # and bytes of all
LONGEST = 2**20  # bytes of a body in a sequence: a longer one is compared as a whole
# Failures: the check tells a late answer and a broken one by these words.
LATE, ENDLESS, BROKEN = "no answer within", "no end of the answer within", "the answer broke off"
CLOSED, RESET = "no answer: connection closed", "no answer: connection reset"
FAILURES = {"closed": CLOSED, "reset": RESET, "connect": "no answer: connection refused"}
NOTHING = Message(b"", None, is_head=False)
ANY_WINDOW = Window(closes_ns=0)


class Asking(Lane):
    """A lane that returns the answer to a request instead of counting it."""

    __slots__ = ("_came_bytes", "_limit_s", "_settled", "_target")

    def __init__(self, target: Target, protocol: ConnectionMaker, limit_s: float) -> None:
        """A request has an answer within `limit_s`, or a failure."""
        self._target = target
        super().__init__([NOTHING], opener(protocol, target), keepalive=True)
        self._limit_s = limit_s

    async def ask(self, request: Request) -> Answer:
        """Send a request at once, and once more if that was when the server closed the connection.

        Each WebSocket is a new one.
        """
        message = message_of(request, self._target, keepalive=True, kept=True)
        closes = message.closes or message.opening is not None
        message = message._replace(closes=closes, place="")  # the check names the place
        until_s = asyncio.get_running_loop().time() + self._limit_s
        answer = await self._sent(message, until_s)
        if answer.failure not in (CLOSED, RESET) or request.websocket:
            return answer
        again = await self._sent(message, until_s)
        return answer if again.failure.startswith(LATE) else again  # it is gone, not late

    async def _sent(self, message: Message, until_s: float) -> Answer:
        self._messages, self.answer, self._came_bytes = [message], None, 0
        self._settled: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.send(0, 0, ANY_WINDOW)
        try:
            async with asyncio.timeout_at(until_s):
                kind = await self._settled
        except TimeoutError:
            self._hang_up()
            self.window = None
            return Answer(failure=f"{ENDLESS if self.first_ns else LATE} {self._limit_s:.0f} s")
        if self.answer:
            return self.answer
        if message.opening and kind in ("closed", "short"):
            return Answer(failure=f"{BROKEN}: the WebSocket was closed")
        if kind == "short" or self._came_bytes:
            return Answer(failure=f"{BROKEN} after {self._came_bytes:,} bytes")
        return Answer(failure=FAILURES.get(kind, f"no answer: {kind}"))

    def lost(self, kind: str) -> None:
        if self.connection:
            self._came_bytes = self.connection.came_bytes
        super().lost(kind)

    def _settle(self, error: str, *, declined: bool = False) -> None:
        del declined
        self.window = None
        if not self._settled.done():
            self._settled.set_result(error)


class Client:
    """Sends requests to workers, part after part.

    `asked` has the `urls` of the workers and the `requests`. First a sequence: the list again and
    again, each request once the one before it is answered, by one client that keeps cookies and
    what it saves. `order` has the worker that gets each; with `again_s` repetitions end after that
    time. Then with `first` each request once, to all workers at one instant; then requests at once
    for `together_s`. An answer takes `answer_s` at most: after a missing one nothing is sent.
    """

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._requests = [Request(**each) for each in asked["requests"]]
        self._sequence: list[Answer] = []
        self._answers: list[dict[Answer, None]] = [{} for _ in self._requests]
        self._at_once: list[set[int]] = [set() for _ in self._requests]
        self._unsaved: dict[int, str] = {}
        self._given_up = False
        self._kept_bytes = 0
        self._cookies = CookieJar()
        self._with_cookies: dict[int, None] = {}  # places of requests that were sent with some
        self._values: dict[str, str] = {}  # that were saved last
        self._secrets: set[str] = set()

    def seen(self) -> dict[str, Any]:
        """The answers as JSON: `sequence` by position, the different `answers` of each request, the
        statuses of each where several were sent `at_once`, and in `unsaved`, by the place of a
        request, the part that its first answer lacks. `secrets` are cookies and saved values.
        """
        return {
            "sequence": [_document(each) for each in self._sequence],
            "answers": [[_document(each) for each in kept] for kept in self._answers],
            "at_once": [sorted(each) for each in self._at_once],
            "unsaved": self._unsaved,
            "given_up": self._given_up,
            "secrets": sorted(self._secrets),
        }

    async def send_all(self) -> None:
        """Send everything."""
        urls, limit_s = self._asked["urls"], self._asked["answer_s"]
        protocol = http(websockets=any(each.websocket for each in self._requests))
        each = max(CONNECTIONS, AT_LEAST // len(urls))
        targets = [parse_target(url, remote=False) for url in urls]
        lanes = [Asking(target, protocol, limit_s) for target in targets for _ in range(each)]
        try:
            await self._in_sequence(lanes[::each])
            if self._asked["first"]:
                await self._first(lanes[::each])
            await self._together(lanes, time.monotonic() + self._asked["together_s"])
        finally:
            for lane in lanes:
                lane.finish()
                self._secrets |= lane.secrets  # also of answers that broke off

    async def _in_sequence(self, lanes: Sequence[Asking]) -> None:
        """The list again and again, one request after the other."""
        own, again_s, until_s = len(self._requests), self._asked["again_s"], float("inf")
        for position, worker in enumerate(self._asked["order"]):
            if position == own and again_s:
                until_s = time.monotonic() + again_s
            if self._given_up or time.monotonic() > until_s:
                return
            place = position % own
            request = self._as_browsers_do(place)
            answer = await lanes[worker].ask(request)
            self._cookies.extract_cookies(_as_response(answer), _as_browser(request))  # type: ignore[arg-type]
            self._keep(place, answer)
            self._sequence.append(_bounded(answer))

    async def _first(self, lanes: Sequence[Asking]) -> None:
        """One request after the other, each to all workers at one instant."""
        await asyncio.gather(*(each.connect() for each in lanes))  # what fails, fails again
        await asyncio.sleep(ACCEPTED_S)
        for place in range(len(self._requests)):
            if not self._given_up:
                await self._exchange([(lane, place) for lane in lanes])

    async def _together(self, lanes: Sequence[Asking], until_s: float) -> None:
        """A request on every connection, then all their answers, again and again.

        They are sent without cookies; those that were sent with them in the sequence come first.
        """
        places = self._drawn()
        while not self._given_up and time.monotonic() < until_s:
            await self._exchange([(lane, next(places)) for lane in lanes])

    def _drawn(self) -> Iterator[int]:
        choices = random.Random(1)
        yield from self._with_cookies
        yield from (choices.randrange(len(self._requests)) for _ in count())

    async def _exchange(self, pairs: Sequence[tuple[Asking, int]]) -> None:
        """Send a request on each lane at one instant, and take the answers.

        Later requests are sent with the values that these save.
        """
        sent = [(lane, filled(self._requests[place], self._values)) for lane, place in pairs]
        answers = await asyncio.gather(*(lane.ask(request) for lane, request in sent))
        for (_, place), answer in zip(pairs, answers, strict=True):
            self._at_once[place].add(answer.status)
            self._keep(place, answer)

    def _as_browsers_do(self, place: int) -> Request:
        """A request with the cookies that answers have set, unless it has its own."""
        request = filled(self._requests[place], self._values)
        asked = _as_browser(request)
        if asked.has_header("Cookie"):
            return request
        self._cookies.add_cookie_header(asked)
        cookie = asked.get_header("Cookie")
        if cookie is None:
            return request
        self._with_cookies[place] = None
        return replace(request, headers={**request.headers, "cookie": cookie})

    def _keep(self, place: int, answer: Answer) -> None:
        self._given_up |= bool(answer.failure)
        try:
            found = saved(self._requests[place].save, answer)
            self._values |= found
            self._secrets.update(found.values())
        except NothingThereError as nothing:
            if len(self._sequence) < len(self._requests):  # a later answer may be another one
                self._unsaved[place] = str(nothing)
        kept = self._answers[place]
        if answer not in kept and len(kept) < KEPT and self._kept_bytes < KEPT_BYTES:
            kept[answer] = None
            self._kept_bytes += len(answer.body)


def _document(answer: Answer) -> dict[str, Any]:
    return answer._asdict() | {
        "body": b64encode(answer.body).decode(),
        "messages": [b64encode(each).decode() for each in answer.messages],
    }


def _bounded(answer: Answer) -> Answer:
    """The answer, of a long body with its digest alone: sequences of several runs are kept."""
    whole = b"".join(answer.messages) or answer.body
    if len(whole) <= LONGEST:
        return answer
    return Answer(answer.headers, hashlib.sha256(whole).hexdigest().encode(), answer.status)


def _as_browser(request: Request) -> browser.Request:
    """A request as the jar of cookies reads it, with TLS: `Secure` cookies belong to it, too."""
    headers = request.headers
    host = next((value for name, value in headers.items() if name.lower() == "host"), LOOPBACK)
    path = request.websocket or request.path or "/"
    return browser.Request(f"https://{host}{path}", headers=dict(headers))


def _as_response(answer: Answer) -> SimpleNamespace:
    """An answer as the jar of cookies reads it."""

    def get_all(name: str, _: object) -> list[str]:
        return [value for each, value in answer.headers if each == name.lower()]

    return SimpleNamespace(info=lambda: SimpleNamespace(get_all=get_all))


async def _send_and_print(client: Client) -> None:
    sending = asyncio.ensure_future(client.send_all())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sending.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await sending
    # The loop is still open: a late SIGTERM cancels nothing, and does not end the process.
    print(json.dumps(client.seen()), flush=True)


def main() -> None:
    """Send the requests on standard input, and print the answers."""
    end_with_the_parent()
    http()  # imports while the servers do
    if line := sys.stdin.readline():
        asyncio.run(_send_and_print(Client(json.loads(line))))


if __name__ == "__main__":
    main()
