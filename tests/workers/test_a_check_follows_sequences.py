"""`check_application` follows sequences, WebSockets and streams over threads and processes."""

from typing import Any

import pytest

from scaling.run.check import state
from scaling.run.check.one_loop import AppCheckError
from tests.support.app_checks import check
from tests.support.children import each_model

pytestmark = pytest.mark.slow

LOGIN = {"method": "POST", "path": "/login", "save": {"token": "/data/0/token"}, "line": 1}
ME = {"path": "/me", "headers": {"authorization": "Bearer {token}"}, "line": 2}
SAID = {"websocket": "/ws", "send": ["{token}"], "line": 3}
EVENTS = {"path": "/events", "line": 4}
QUICK: dict[str, Any] = {"firsts": 1, "together_s": 0.1}


@pytest.fixture(autouse=True)
def by_no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing differs by chance: it is tried again once."""
    monkeypatch.setattr(state, "ROUNDS", 1)


@each_model("threads", "forked")
def test_what_all_workers_know_is_no_finding(model: str) -> None:
    models, workers = ((), (2,)) if model == "threads" else ((model,), ())
    requests = [LOGIN, ME, SAID, EVENTS]
    found = check("live:app", requests, **QUICK, models=models, workers=workers)
    assert (found.findings, found.left_out, found.models) == ([], [], (model,))


@pytest.mark.one_build
def test_each_step_comes_to_another_worker() -> None:
    """What one process keeps is lost between the steps."""
    asked = {**QUICK, "workers": (), "models": ("mixed:2",), "alone": 1}
    (finding,) = check("live:forgetful", [LOGIN, SAID], **asked).findings
    assert (finding.kind, finding.models) == ("state-in-process", ("mixed:2",))
    where = "fresh processes of 2 threads"
    assert finding.message.startswith(f"In {where} `WebSocket /ws` is answered with body/0")
    assert "planted" not in f"{finding}"


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            {**LOGIN, "save": {"token": "/token"}},
            "POST /login (line 1) on one loop: the answer has nothing at /token to save",
        ),
        ({**SAID, "websocket": "/me"}, "WebSocket /me (line 3) on one loop: no WebSocket route"),
        ({**SAID, "receive": ["other"]}, "(line 3) on one loop: the messages that come are not t"),
        ({"path": "/forever", "line": 7}, "GET /forever (line 7) on one loop: no end of the answ"),
    ],
)
def test_what_cannot_be_sent_names_its_line(request_: dict[str, Any], words: str) -> None:
    with pytest.raises(AppCheckError) as refused:
        check("live:app", [request_], alone=1, workers=(), answer_s=1.0)
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) <= 2


@pytest.mark.one_build
def test_a_missing_websockets_is_named(tmp_path: Any) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['websockets'] = None")
    with pytest.raises(AppCheckError, match="websockets is not installed where the application"):
        check("live:app", [{"websocket": "/ws"}], tmp_path, alone=1, workers=())


@pytest.mark.one_build
def test_websockets_of_aiohttp_are_compared_too() -> None:
    asked: dict[str, Any] = {**QUICK, "alone": 1, "firsts": 0, "factory": True}
    assert check("aiohttp_live:create_app", [SAID], **asked).findings == []
