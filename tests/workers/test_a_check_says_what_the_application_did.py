"""What a check finds is said in the application's own words, with its line, and what to do."""

import re
from pathlib import Path
from typing import Any

import pytest

from scaling.run.check.client import ANSWER_S
from scaling.run.check.one_loop import AppCheckError
from tests.support.app_checks import check

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

BROKEN = """
import ctypes, os, time
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from aiohttp import web

def chunks():
    yield b"tea"
    raise RuntimeError("no more")

async def streamed(request):
    return StreamingResponse(chunks())

async def short(request):
    return Response(b"tea", headers={"content-length": "7"})

async def waiting(request):
    time.sleep(2)

async def crashing(request):
    ctypes.string_at(0)

async def ending(request):
    os._exit(9)

async def socket(websocket):
    await websocket.accept()
    await websocket.send_text("tea")

async def of_aiohttp(request):
    answer = web.WebSocketResponse()
    await answer.prepare(request)
    return answer

app = Starlette(routes=[
    *(Route(f"/{each.__name__}", each) for each in (streamed, short, waiting, crashing, ending)),
    WebSocketRoute("/ws", socket),
])

def create():
    made = web.Application()
    made.router.add_get("/ws", of_aiohttp)
    return made
"""
QUICK: dict[str, Any] = {"alone": 1, "firsts": 0, "together_s": 0.1}
STREAMED = (
    r"^GET /streamed on one loop: RuntimeError: no more \(broken.py, line 10\); the client saw: "
    r"the answer broke off after 3 bytes$"
)
SOCKET = "a WebSocket route: it answers no request of HTTP"


@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("app", "/streamed", STREAMED),
        ("app", "/short", r"Response content shorter .*; the client saw: the answer broke off"),
        ("app", "/none", "^GET /none is answered with status 404 on one loop"),
        ("app", "/waiting", r"GET /waiting on one loop: no answer within 1 s$"),
        ("app", "/crashing", r"crashes on one loop: Segmentation fault \(broken.py, line \d+\)"),
        ("app", "/ending", r"(on one loop: no answer: .*|ends its process on one loop.*)"),
        ("app", "/ws", f"^GET /ws on one loop: {SOCKET}"),
        ("create", "/ws", f"^GET /ws on one loop: {SOCKET}"),  # of aiohttp
    ],
)
def test_what_goes_wrong_on_one_loop_has_the_words_of_the_application(
    name: str, path: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    asked: dict[str, Any] = {"factory": name == "create"}
    asked["answer_s"] = 1.0 if path == "/waiting" else ANSWER_S
    with pytest.raises(AppCheckError) as raised:
        check(f"broken:{name}", [{"path": path}], tmp_path, workers=(), alone=1, **asked)
    said = str(raised.value).splitlines()
    assert re.search(says, said[0]), said
    assert len(said) <= 2  # the second line is what to do


def test_a_status_without_an_exception_is_the_symptom() -> None:
    """Nothing of ours is taken for the application's, such as what ends with the interpreter."""
    found = check("faults.now_and_then:application", [{}], alone=1, firsts=0)
    assert [each.kind for each in found.findings] == ["error"]
    assert found.findings[0].message == "2 loops in threads: status 503"


@pytest.mark.parametrize(
    ("name", "factory", "remedy"),
    [
        ("application", False, "if a function makes it, name that with --factory"),
        ("create_around", True, "make all that it starts inside the factory"),
    ],
)
def test_what_can_start_once_says_what_to_do_by_what_was_asked(
    name: str, factory: bool, remedy: str
) -> None:
    (found,) = check(f"faults.runs_once:{name}", [{}], **QUICK, factory=factory).findings
    assert found.kind == "failed-to-start"
    assert "RuntimeError: Manager.start() can only be called once (runs_once.py" in found.message
    assert remedy in found.remedy
