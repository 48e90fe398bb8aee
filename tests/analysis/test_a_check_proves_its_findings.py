"""A fault is of an inherited context if it shows with one more often than by chance, and never
without. A check has a limit of time.

Where nobody listens any more, the client ends with the reason; a hang names the user's own line.
"""

import asyncio
import gc
import json
import random
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from scaling.analysis.check.evidence import CHANCE, MOST_TRIES, is_cause
from scaling.base.errors import ScalingError
from scaling.base.models import PROCESSES
from scaling.journal.check_file import AppCheck, Kind
from scaling.run.check import client as client_module
from scaling.run.check import runs
from scaling.run.check.application import causes_by_trying, check_application
from scaling.run.check.client import CheckClient, Sending, always
from scaling.run.check.one_loop import AppCheckError
from scaling.run.child import Child, Ending, Run
from scaling.run.load_client import LoadError
from scaling.run.probe import Phase
from scaling.run.waiting import ready
from tests.support.app_checks import check
from tests.support.children import PATIENCE_S
from workers.services.load.client import Asking
from workers.services.load.generator import http
from workers.services.load.lane import Message
from workers.services.load.request import Request
from workers.services.load.sequence import Answer
from workers.services.load.targets import parse_target

ONCE = Sending(worker_of=always(0))


def found_by(seen: list[set[Kind]], *suspects: Kind) -> tuple[set[Kind], list[bool]]:
    """The causes that are found, and whether each try inherited; `seen` is found in each."""
    answers: Iterator[set[Kind]] = iter(seen)
    asked: list[bool] = []

    def kinds(inherit: bool) -> set[Kind]:
        asked.append(inherit)
        return next(answers)

    return causes_by_trying(set(suspects), kinds), asked


SHOWN: set[Kind] = {"mixed-up"}
NONE: set[Kind] = set()


BOTH: set[Kind] = {"mixed-up", "error"}
ERROR: set[Kind] = {"error"}


@pytest.mark.parametrize(
    ("seen", "cause", "tries"),
    [
        ([NONE, SHOWN] * 3, SHOWN, 6),
        ([NONE, SHOWN, NONE, NONE, *([NONE, SHOWN] * 3)], SHOWN, 10),
        ([SHOWN], NONE, 1),
        ([NONE, SHOWN, SHOWN], NONE, 3),
        ([ERROR, BOTH] * 3, SHOWN, 6),
    ],
    ids=["always", "once not", "without it", "later without it", "one of two faults"],
)
def test_what_shows_with_it_alone_is_caused_by_it(
    seen: list[set[Kind]], cause: set[Kind], tries: int
) -> None:
    suspects: tuple[Kind, ...] = ("mixed-up", "error") if ERROR in seen else ("mixed-up",)
    assert found_by(seen, *suspects) == (cause, ([False, True] * 5)[:tries])


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_race_is_seldom_taken_for_it(rate: float) -> None:
    """A fault that has nothing to do with the context shows in a share of all tries."""
    choices, named = random.Random(7), 0
    for _ in range(2_000):
        answers: list[bool | None] = [None]
        with_it: list[bool] = []
        without: list[bool] = []
        while answers[-1] is None:
            without.append(choices.random() < rate)
            with_it.append(choices.random() < rate)
            answers.append(is_cause(with_it, without))
        assert len(with_it) <= MOST_TRIES
        named += bool(answers[-1])
    assert named / 2_000 < CHANCE


class Clock:
    """The time of a check in which each run takes `each_s`, or until its limit."""

    def __init__(self, each_s: float) -> None:
        self.now_s, self.each_s = 1_000.0, each_s

    def monotonic(self) -> float:
        return self.now_s

    def run_child(self, run: Run) -> Ending:
        limit_s = run.limit_s or 0.0
        self.now_s += min(limit_s, self.each_s)
        return Ending("timed-out" if limit_s < self.each_s else "measured", self.each_s)


def limited(each_s: float, monkeypatch: pytest.MonkeyPatch) -> tuple[float, AppCheck]:
    """A check with runs that take so long: how long it took, s, and its result."""
    clock = Clock(each_s)
    monkeypatch.setattr(runs, "time", clock)
    monkeypatch.setattr(runs, "run_child", clock.run_child)
    try:
        found = check_application(Child("python", {}), {"lifespan": "off"})
    finally:
        assert clock.now_s - 1_000 <= runs.CHECK_S
    return clock.now_s - 1_000, found


@pytest.mark.parametrize(
    ("each_s", "took_s", "left_out"),
    [
        (5.0, 55.0, ()),
        (12.0, 84.0, ("4 runs of first requests to all loops at once: no time was left",)),
        (20.0, 90.0, ("5 runs of first requests", "fresh processes: no", "forked processes: no")),
    ],
)
def test_a_check_has_a_limit_and_says_what_it_left_out(
    each_s: float, took_s: float, left_out: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    took, found = limited(each_s, monkeypatch)
    assert took == took_s
    assert len(found.left_out) == len(left_out)
    for said, expected in zip(found.left_out, left_out, strict=True):
        assert said.startswith(expected)
    assert found.models == (("threads",) if each_s == 20 else ("threads", *PROCESSES))


def test_an_application_that_leaves_no_time_for_threads_is_not_called_sound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(AppCheckError, match="so slow that nothing can be compared in 90 s"):
        limited(40.0, monkeypatch)


def sent(client: CheckClient, server: socket.socket | str) -> str:
    """Have it send to a server, to which nobody else talks; return why it failed, if it did."""
    url = server if isinstance(server, str) else f"http://127.0.0.1:{server.getsockname()[1]}"

    async def send() -> None:
        client.start()
        try:
            await client.at(Phase("serving", {"urls": [url]}))
        finally:
            client.close()

    try:
        asyncio.run(send())
    except LoadError as error:
        return str(error)
    return ""


def test_a_refused_connection_is_a_missing_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    client = CheckClient([{"path": "/"}], ONCE)
    assert sent(client, url) == "a request was not answered"
    (answer,) = client.seen.sequence
    assert answer.failure == "no answer: connection refused"


def test_only_the_first_answer_must_have_what_is_saved() -> None:
    """One that has been used up, or comes once, is no fault of the file."""

    class Once(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        tokens: ClassVar = iter(["abcd"])

        def do_GET(self) -> None:
            body = json.dumps(dict.fromkeys(["token"], next(self.tokens, None))).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Once) as server:
        threading.Thread(target=server.serve_forever).start()
        request = {"path": "/", "save": {"token": "/token"}}
        client = CheckClient([request], Sending(worker_of=always(0), together_s=0.05))
        again = CheckClient([request], ONCE)
        assert [sent(each, server.socket) for each in (client, again)] == ["", ""]
        server.shutdown()
    assert client.seen.unsaved == {}
    assert client.secrets == {"abcd"}
    assert again.seen.unsaved == {0: "the answer has nothing at /token to save"}


@contextmanager
def answering(*parts: bytes, stays: bool = False) -> Iterator[socket.socket]:
    """A server that answers one request with these parts, and closes unless it `stays`."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def answer() -> None:
            with server.accept()[0] as accepted:
                accepted.recv(4096)
                for each in parts:
                    accepted.sendall(each)
                if stays:
                    accepted.recv(4096)  # until the client closes

        pool.submit(answer)
        yield server


def test_a_stream_ends_with_a_line_that_came_in_two_parts() -> None:
    parts = [b"data: a\n\n", b"data: [DO", b"NE]\n\n"]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = [b"%x\r\n%b\r\n" % (len(each), each) for each in parts]
    client = CheckClient([{"path": "/"}], replace(ONCE, length=1))
    with answering(head, *chunks, stays=True) as server:
        assert sent(client, server) == ""
    (answer,) = client.seen.sequence
    assert (answer.status, answer.body, answer.failure) == (200, b"".join(parts), "")


def test_cookies_of_an_answer_that_broke_off_are_secrets() -> None:
    client = CheckClient([{"path": "/"}], ONCE)
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: session=abcdefgh\r\nContent-Length: 9\r\n\r\n"
    with answering(head, b"body") as server:
        assert sent(client, server) == "a request was not answered"
    assert client.seen.sequence[0].failure == "the answer broke off after 4 bytes"
    assert client.secrets == {"abcdefgh"}


@pytest.mark.parametrize("status", ["403 Forbidden", "101 Switching Protocols"])
def test_cookies_of_an_answer_that_makes_no_websocket_are_secrets(status: str) -> None:
    client = CheckClient([{"websocket": "/ws"}], replace(ONCE, length=1))
    head = f"HTTP/1.1 {status}\r\nSet-Cookie: session=abcdefgh\r\n\r\n"
    with answering(head.encode()) as server:
        sent(client, server)
    assert client.secrets == {"abcdefgh"}


def test_a_client_that_is_told_to_stop_while_it_prints_prints_everything() -> None:
    class Late(CheckClient):
        async def _line(self, limit_s: float | None) -> bytes:
            assert self._process
            assert self._process.stdout
            await ready(self._process.stdout.fileno())  # it waits: the pipe is full
            self.stop()
            return await super()._line(limit_s)

    client, body = Late([{"path": "/"}], replace(ONCE, length=1)), b"x" * 2**19
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body) as server:
        assert sent(client, server) == ""
    assert client.seen.sequence[0].body == body


def test_a_request_that_is_sent_again_has_no_second_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Asking._sent
    limits: list[float] = []

    async def noted(lane: Asking, message: Message, until_s: float) -> Answer:
        limits.append(until_s)
        return await send(lane, message, until_s if len(limits) == 1 else 0.0)

    async def asked(url: str) -> Answer:
        lane = Asking(parse_target(url, remote=False), http(), PATIENCE_S)
        try:
            return await lane.ask(Request(path="/"))
        finally:
            lane.finish()

    monkeypatch.setattr(Asking, "_sent", noted)
    with answering() as server:
        answer = asyncio.run(asked(f"http://127.0.0.1:{server.getsockname()[1]}"))
    first, again = limits
    assert first == again
    assert answer.failure == "no answer: connection closed"


def test_a_client_that_hangs_is_killed_after_a_moment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The event loop prints nothing of a failure that follows."""
    monkeypatch.setattr(client_module, "LAST_ANSWERS_S", 0.2)
    client = CheckClient([{"path": "/"}], ONCE)

    async def end_early() -> None:
        client.start()
        assert client._process
        client._process.send_signal(signal.SIGSTOP)
        try:
            phase = Phase("serving", {"urls": ["http://127.0.0.1:9"]})
            sending = asyncio.create_task(client.at(phase))
            await asyncio.sleep(0.05)
            client.stop()
            sending.cancel()
            await asyncio.wait((sending,), timeout=PATIENCE_S)
            assert sending.done()
        finally:
            client.close()

    asyncio.run(end_early())
    gc.collect()  # a failure that nobody has asked for is printed now
    assert client.failure == "the client of the check did not stop in 0.2 s: it hangs"
    assert caplog.messages == []


@pytest.mark.slow
def test_a_client_that_dies_is_no_fault_of_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    class Struck(CheckClient):
        async def at(self, phase: Phase) -> dict[str, Any]:
            assert self._process
            self._process.kill()
            return await super().at(phase)

    monkeypatch.setattr(runs, "CheckClient", Struck)
    with pytest.raises(ScalingError, match=r"client of the check ended: .* SIGKILL") as raised:
        check("live:create_app", [{"path": "/me"}], factory=True, lifespan="off")
    assert raised.value.exit_code == 1
