"""`check_application` finds each fault that only several loops have, and none in a sound one.

Those that people have most often are on the page on N loops, and tried with it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.check_file import AppCheck
from scaling.run.check import state
from scaling.run.check.client import ANSWER_S
from scaling.run.check.one_loop import AppCheckError
from tests.support.app_checks import APPLICATIONS, TOGETHER_S, check
from tests.support.children import FREE_THREADED

pytestmark = [
    *(pytest.mark.slow, pytest.mark.free_threaded),
    pytest.mark.skipif(not FREE_THREADED, reason="loops in threads are for free-threaded builds"),
]

USERS = [{"path": "/ada"}, {"path": "/bob"}]
FIRSTS = 2  # runs in which a schema is built; where it is not seen, there are more checks
BY_CHANCE = {"built_lazily", "inherited", "inherited_by_pool"}
"""Requests have to meet at an instant: a check on a busy machine may miss it, five do not."""
MEETING = BY_CHANCE | {"deadlock", "crash"}
MOMENT_S = 0.05  # of all others the first requests that are sent at once show what there is


def checked(
    application: str, requests: Sequence[Mapping[str, str]], more: int, **parameters: Any
) -> AppCheck:
    """The first check that finds something, of one and so many more; else the last."""
    found = check(application, requests, alone=1, **parameters)
    return checked(application, requests, more - 1, **parameters) if found.ok and more else found


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("gil", "gil-enabled", r"fontTools.cu2qu.* turns the GIL on"),
        ("deadlock", "no-answer", r"no answer within"),
        ("crash", "crashed", r"Segmentation fault \(crash.py, line \d+\)"),
        ("inherited", "context-inherited", r"hello bob,.* hello ada|hello ada,.* hello bob"),
        ("inherited_by_pool", "context-inherited", r"body/audited is .*, and nobody at N = 1"),
        ("built_lazily", "built-lazily", r"KeyError: .* \(built_lazily.py, line \d+\)"),
    ],
)
def test_each_fault_is_found_and_no_other(fault: str, kind: str, words: str) -> None:
    more, firsts = (4 if fault in BY_CHANCE else 0), (FIRSTS if fault == "built_lazily" else 0)
    together_s = TOGETHER_S if fault in MEETING else MOMENT_S
    application = f"faults.{fault}:application"
    found = checked(application, USERS, more, firsts=firsts, together_s=together_s)
    assert {each.kind for each in found.findings} == {kind}, found
    for each in found.findings:
        assert re.search(words, each.message.replace('"', "")), each
        assert each.remedy


def test_data_of_one_worker_is_a_difference() -> None:
    requests = [{"method": "PUT", "path": "/ada"}, {"path": "/names"}]
    application = "faults.own_data:create_app"
    result = check(application, requests, firsts=0, together_s=MOMENT_S, factory=True)
    (found,) = result.findings
    assert (found.kind, found.request) == ("differs", "GET /names")
    assert "body has length 0, and length 1 at N = 1" in found.message


def test_sound_applications_pass() -> None:
    """So do twins of a fault; `flask_ledger` further down is one of WSGI."""
    requests = [{"path": "/items/tea"}, {"path": "/items/milk"}]
    assert check("faults.sound:application", requests, workers=(4,)).findings == []
    for twin in ("built_once", "own_context"):
        found = check(f"faults.{twin}:application", USERS, alone=1)
        assert found.findings == []


def test_application_that_is_wrong_on_one_loop_is_no_finding(tmp_path: Path) -> None:
    with pytest.raises(AppCheckError, match=r"GET /none is answered with status 404 on one loop"):
        check("faults.sound:application", [{"path": "/none"}])
    (tmp_path / "broken.py").write_text("raise OSError('no database')")
    with pytest.raises(AppCheckError, match="no database"):
        check("broken:application", [{}], tmp_path)


ON_REQUEST = """
import ctypes, os, time

async def application(scope, receive, send):
    if scope["type"] == "http":
        {}
"""


@pytest.mark.parametrize(
    ("statement", "answer_s", "words"),
    [
        ("time.sleep(2)", 1.0, r"GET / on one loop: no answer within 1 s$"),
        (
            *("ctypes.string_at(0)", ANSWER_S),
            r"crashes on one loop: Segmentation fault \(failing.py, line \d\)",
        ),
        ("os._exit(9)", ANSWER_S, r"(on one loop: no answer: .*|ends its process on one loop.*)"),
    ],
)
def test_an_application_that_does_not_answer_on_one_loop_is_no_finding(
    statement: str, answer_s: float, words: str, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text(ON_REQUEST.format(statement))
    with pytest.raises(AppCheckError) as raised:
        check("failing:application", [{}], tmp_path, answer_s=answer_s)
    assert re.search(words, str(raised.value).partition("\n")[0])


# Each application once, and each way: made by a factory, or one object that all loops share.
@pytest.mark.parametrize(
    ("name", "factory", "kinds"),
    [
        ("fastapi_shop", False, []),
        ("starlette_pages", True, []),
        ("flask_ledger", False, ["state-in-process"]),  # it numbers what it books, in its process
    ],
)
def test_published_applications_pass_in_threads(
    name: str, factory: bool, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "ROUNDS", 1)  # nothing here differs by chance
    lines = (APPLICATIONS / name / "requests.jsonl").read_text().splitlines()
    requests = [json.loads(each) for each in lines]
    application = f"{name}.main:{'create_app' if factory else 'app'}"
    found = check(application, requests, models=("forked",), alone=1, factory=factory)
    assert [each.kind for each in found.findings] == kinds
    assert "threads" not in found.wrong_models
