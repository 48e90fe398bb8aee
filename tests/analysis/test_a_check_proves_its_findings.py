"""A fault is of an inherited context if it shows with one more often than by chance, and never
without. A check has a limit of time.

Where nobody listens any more, the client ends with the reason; a hang names the user's own line.
"""

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from unittest.mock import Mock

import pytest

from scaling.analysis.check.evidence import CHANCE, MOST_TRIES, is_cause
from scaling.analysis.check.exceptions import stuck
from scaling.base.models import PROCESSES
from scaling.journal.beside import AppCheck, Kind
from scaling.run.check import runs
from scaling.run.check.application import causes_by_trying, check_application
from scaling.run.check.client import CheckClient, Sending, always
from scaling.run.check.connection import Connection
from scaling.run.check.one_loop import AppCheckError
from scaling.run.child import Child, Ending, Run
from scaling.run.load_client import LoadError


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


def test_a_refused_connection_is_a_missing_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client = CheckClient([{"path": "/"}], Sending(worker_of=always(0)))
    with pytest.raises(LoadError, match="a request was not answered"):
        client.send_all([f"http://127.0.0.1:{port}"])
    (answer,) = client.sequence
    assert "no answer: ConnectionRefusedError" in answer.failure


def test_a_server_that_is_gone_is_not_called_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has closed the connection, and a second one cannot be made in time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection(f"http://127.0.0.1:{server.getsockname()[1]}", 5.0)
        connection.send({"path": "/"})
        with server.accept()[0] as accepted:
            accepted.recv(4096)
        late = Mock(side_effect=TimeoutError)
        monkeypatch.setattr("scaling.run.check.connection.send", late)
        answer = connection.answer({"path": "/"}, time.monotonic() + 5.0)
    connection.close()
    assert "no answer: RemoteDisconnected" in answer.failure


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
        again = CheckClient([request], Sending(worker_of=always(0)))
        for each in (client, again):
            each.send_all([f"http://127.0.0.1:{server.server_port}"])
        server.shutdown()
    assert (client.given_up, client.unsaved) == (False, {})
    assert again.unsaved == {0: "the answer has nothing at /token to save"}


def test_a_stream_ends_with_a_line_that_came_in_two_parts() -> None:
    parts = [b"data: a\n\n", b"data: [DO", b"NE]\n\n"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        asking = Connection(f"http://127.0.0.1:{server.getsockname()[1]}", 2.0)
        asking.send({"path": "/"})
        accepted, _ = server.accept()
        with accepted:
            accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
            accepted.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
            accepted.sendall(b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in parts))
            answer = asking.answer({"path": "/"}, time.monotonic() + 2)
        asking.close()
    assert (answer.body, answer.failure) == (b"".join(parts), "")


def test_host_and_worker_that_wait_for_each_other_are_left_out() -> None:
    thread = "Thread 0x01 (most recent call first):\n"
    ours = f'{thread}  File "workers/channel.py", line 155 in receive\n'
    theirs = 'Current thread 0x02 (most recent call first):\n  File "shop.py", line 7 in app\n'
    assert stuck(ours + theirs) == " (shop.py, line 7)"
    assert stuck(ours) == ""
    assert stuck("no stacks at all") == ""
