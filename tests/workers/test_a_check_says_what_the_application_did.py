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
from starlette.responses import StreamingResponse
from starlette.routing import Route, WebSocketRoute

def chunks():
    yield b"tea"
    raise RuntimeError("no more")

async def streamed(request):
    return StreamingResponse(chunks())

async def waiting(request):
    time.sleep(2)

async def crashing(request):
    ctypes.string_at(0)

async def ending(request):
    os._exit(9)

async def socket(websocket):
    await websocket.accept()
    await websocket.send_text("tea")

app = Starlette(routes=[
    *(Route(f"/{each.__name__}", each) for each in (streamed, waiting, crashing, ending)),
    WebSocketRoute("/ws", socket),
])
"""
STREAMED = (
    r"^GET /streamed on one loop: RuntimeError: no more \(broken.py, line 9\); the client saw: "
    r"the answer broke off after 3 bytes$"
)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/streamed", STREAMED),
        ("/none", "^GET /none is answered with status 404 on one loop"),
        ("/waiting", r"GET /waiting on one loop: no answer within 1 s$"),
        ("/crashing", r"crashes on one loop: Segmentation fault \(broken.py, line \d+\)"),
        ("/ending", r"(on one loop: no answer: .*|ends its process on one loop.*)"),
        ("/ws", "^GET /ws on one loop: a WebSocket route: it answers no request of HTTP"),
    ],
)
def test_what_goes_wrong_on_one_loop_has_the_words_of_the_application(
    path: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    asked: dict[str, Any] = {"answer_s": 1.0 if path == "/waiting" else ANSWER_S}
    asked |= {"lifespan": "off", "workers": (), "alone": 1}  # else it is tried with one, too
    with pytest.raises(AppCheckError) as raised:
        check("broken:app", [{"path": path}], tmp_path, **asked)
    said = str(raised.value).splitlines()
    assert re.search(says, said[0]), said
    assert len(said) <= 2  # the second line is what to do


def test_a_status_without_an_exception_is_the_symptom() -> None:
    """Nothing of ours is taken for the application's, such as what ends with the interpreter."""
    found = check("faults.now_and_then:application", [{}], alone=1, firsts=0, together_s=0.2)
    assert [each.kind for each in found.findings] == ["error"]
    assert found.findings[0].message == "2 loops in threads: status 503"


def test_what_can_start_once_says_what_to_do_in_a_factory() -> None:
    asked: dict[str, Any] = {"alone": 1, "firsts": 0, "together_s": 0.1, "factory": True}
    (found,) = check("faults.runs_once:create_around", [{}], **asked).findings
    assert found.kind == "failed-to-start"
    assert "RuntimeError: Manager.start() can only be called once (runs_once.py" in found.message
    assert "make all that it starts inside the factory" in found.remedy
