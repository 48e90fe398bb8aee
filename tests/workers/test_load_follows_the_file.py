"""Requests that follow each other, WebSockets and streams are sent as the file says, and timed.

The server is uvicorn with Starlette, but for answers that no framework sends.
"""

import asyncio
import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.applications.live import Desk, create_app
from tests.support.children import captured
from tests.support.servers import generator_command
from tests.support.waiting import wait_until
from workers.services.load.client import Asking
from workers.services.load.generator import http
from workers.services.load.request import Request
from workers.services.load.targets import parse_target

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

LOGIN = {"method": "POST", "path": "/login", "save": {"token": "/data/0/token"}}
ME = {"path": "/me", "headers": {"authorization": "Bearer {token}"}}
SAID = {"websocket": "/ws", "send": ["{token}"], "receive": ["known"]}
FIRST_MS, LAST_MS = 50, 200


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.fixture
def served() -> Iterator[tuple[str, Desk]]:
    """The URL of the application, and what it has seen."""
    application = create_app()
    config = uvicorn.Config(application, log_config=None, ws="websockets-sansio", lifespan="off")
    server = uvicorn.Server(config)
    with listening() as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", application.state.desk
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


def loaded(
    url: str, folder: Path, requests: Sequence[dict[str, Any]], *options: str, **variables: str
) -> dict[str, Any]:
    """What the generator says of half a second of these requests."""
    file = folder / "requests.jsonl"
    file.write_text("\n".join(map(json.dumps, requests)))
    asked = ("--json", "--seconds=0.5", "--warmup=0.1", "--connections=4", f"--requests={file}")
    done = captured(generator_command(*asked, url, *options), **variables)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_follows_a_login_is_logged_in(served: tuple[str, Desk], tmp_path: Path) -> None:
    """Values come from the body, a header and a cookie; the list goes round on each connection."""
    url, desk = served
    save = {"token": "/data/0/token", "of_header": "header:x-token", "of_cookie": "cookie:session"}
    requests: list[dict[str, Any]] = [
        {**LOGIN, "save": save},
        ME,
        {"path": "/me?token={of_header}"},
        {"path": "/me", "headers": {"cookie": "session={of_cookie}"}},
    ]
    found = loaded(url, tmp_path, requests, "--rate=max")
    assert found["errors"] == {}
    assert found["completed"] > 10
    in_order = [each for each in desk.asked.values() if each != ["/"]]
    assert len(in_order) == 4
    for asked in in_order:
        assert asked == [("/me" if at % 4 else "/login") for at in range(len(asked))]


def test_what_follows_a_failed_request_is_not_sent(
    served: tuple[str, Desk], tmp_path: Path
) -> None:
    url, desk = served
    broken = {**LOGIN, "save": {"token": "/nowhere"}}
    found = loaded(url, tmp_path, [broken, ME], "--rate=60")
    ((said, count),) = found["errors"].items()
    assert said.startswith("line 1: the answer has nothing at /nowhere")
    assert count > 5
    assert not any("/me" in each for each in desk.asked.values())


@pytest.mark.parametrize("kept", [True, False])
def test_websockets_are_kept_or_opened_anew(
    served: tuple[str, Desk], kept: bool, tmp_path: Path
) -> None:
    url, desk = served
    request = {"websocket": "/ws", "send": ["a", "b"], "receive": ["a?", "b?"]}
    found = loaded(url, tmp_path, [request], "--rate=100", *["--no-keepalive"] * (not kept))
    assert found["errors"] == {}
    assert found["slip_ms"]["n"] == found["offered"]
    assert found["busy_fraction"] < 0.7
    assert 0 < found["first_byte_ms"]["mean"] <= found["latency_ms"]["mean"]
    assert desk.opened == 4 if kept else desk.opened > found["completed"]


def test_each_websocket_of_a_check_is_a_new_one(served: tuple[str, Desk]) -> None:
    """Whatever headers its request has."""
    url, desk = served
    request = Request(websocket="/ws", headers={"connection": "keep-alive"}, send=["a"])

    async def asked_twice() -> None:
        asking = Asking(parse_target(url, remote=False), http(websockets=True), limit_s=5.0)
        for _ in range(2):
            assert (await asking.ask(request)).messages == (b"a?",)

    asyncio.run(asked_twice())
    assert desk.opened == 2


def test_each_pass_through_the_file_has_a_websocket_of_its_own(
    served: tuple[str, Desk], tmp_path: Path
) -> None:
    url, desk = served
    found = loaded(url, tmp_path, [LOGIN, SAID, ME, SAID], "--rate=80")
    assert found["errors"] == {}
    logins = Counter(path for each in desk.asked.values() for path in each)["/login"]
    assert logins - 4 <= desk.opened <= logins


def test_what_goes_wrong_names_the_line(served: tuple[str, Desk], tmp_path: Path) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "line 1: no WebSocket (status 403)": {"websocket": "/me", "send": ["a"]},
        "line 2: mismatch": {"websocket": "/ws", "send": ["a"], "receive": ["b"]},
        "timeout": {"websocket": "/ws", "send": ["silence"]},
        "closed": {"websocket": "/ws", "send": ["fail"]},
        "line 5: no end of the answer in time": {"path": "/forever"},
    }
    options = ("--rate=60", "--timeout=0.3", "--seconds=1", "--connections=16")
    found = loaded(served[0], tmp_path, [*wrong.values()], *options)
    assert set(found["errors"]) == set(wrong)
    assert found["completed"] == 0


# --- streams -------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
EVENTS = b"text/event-stream"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextlib.contextmanager
def streaming(kind: bytes, *parts: tuple[float, bytes]) -> Iterator[tuple[str, Counter[str]]]:
    """Serve a head at once, then each part after so many seconds; give the URL and counts."""
    counts: Counter[str] = Counter()
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts["connections"] += 1
        with contextlib.closing(writer), contextlib.suppress(OSError):
            while await reader.readuntil(b"\r\n\r\n"):
                counts["requests"] += 1
                writer.write(HEAD % kind)
                for after_s, part in parts:
                    await asyncio.sleep(after_s)
                    writer.write(part)

    with listening() as listener:
        listener.setblocking(False)

        async def main() -> None:
            async with await asyncio.start_server(serve, sock=listener):
                await stopped.wait()

        stopped = asyncio.Event()
        thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", counts
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


def test_the_first_byte_is_that_of_the_body_and_the_last_ends_the_answer(tmp_path: Path) -> None:
    """Headers come at once, the first byte after 50 ms, the last one after 200."""
    later_s = (LAST_MS - FIRST_MS) / 1e3
    parts = ((FIRST_MS / 1e3, chunk(b"data: a\n\n")), (later_s, chunk(b"data: b\n\n") + END))
    with streaming(EVENTS, *parts) as (url, _):
        options = ("--rate=45", "--arrivals=constant", "--seconds=1", "--connections=16")
        found = loaded(url, tmp_path, [{"path": "/"}], *options)
    first, last = found["first_byte_ms"], found["latency_ms"]
    assert FIRST_MS <= first["p50"] < 2 * FIRST_MS
    assert first["n"] == last["n"] == 45
    assert found["service_ms"]["mean"] >= LAST_MS


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        (((0.01, END),), True),  # as frameworks end it
        (((0.5, chunk(b"data: more\n\n")), (0.5, END)), False),
    ],
)
def test_a_stream_of_events_is_answered_at_done(
    after: Sequence[tuple[float, bytes]], kept: bool, tmp_path: Path
) -> None:
    done = chunk(b"data: [DO"), chunk(b"NE]\n\n")
    parts = ((0.01, chunk(b"data: a\n\n")), (0.01, done[0]), (0.01, done[1]), *after)
    with streaming(EVENTS, *parts) as (url, counts):
        found = loaded(url, tmp_path, [{"path": "/"}], "--rate=max")
    assert found["errors"] == {}
    assert found["completed"] > 4
    assert found["service_ms"]["mean"] < 300  # far before the end that comes after a second
    opened = counts["connections"] - 1  # one only looks whether the server is there
    assert opened == 4 if kept else opened > found["completed"]


def test_without_events_done_is_a_body_as_any_other(tmp_path: Path) -> None:
    parts = ((0.0, chunk(b"data: [DONE]\n\n")), (0.2, chunk(b"more") + END))
    with streaming(b"text/plain", *parts) as (url, _):
        found = loaded(url, tmp_path, [{"path": "/"}], "--rate=max")
    assert found["service_ms"]["mean"] >= 200
