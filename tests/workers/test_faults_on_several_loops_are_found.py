"""`check_application` finds each fault that only several loops have, and none in a sound one.

Those that people have most often are on the page on N loops, and tried with it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from scaling.journal.check_file import AppCheck
from tests.support.app_checks import APPLICATIONS, TOGETHER_S, check
from tests.support.children import FREE_THREADED

pytestmark = [
    *(pytest.mark.slow, pytest.mark.free_threaded),
    pytest.mark.skipif(not FREE_THREADED, reason="loops in threads are for free-threaded builds"),
]

USERS = [{"path": "/ada"}, {"path": "/bob"}]
FIRSTS = 2  # runs in which a schema is built; where it is not seen, there are more checks
BY_CHANCE = {"built_lazily", "inherited"}
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


def test_a_sound_application_passes() -> None:
    """With twins of faults in it; `flask_ledger` is one of WSGI."""
    requests = [{"path": "/items/tea"}, {"path": "/items/milk"}, {"path": "/once/"}]
    requests += [{"path": f"/context{each['path']}"} for each in USERS]
    found = check("faults.sound:application", requests, workers=(4,), together_s=0.2)
    assert found.findings == []


# Each application once, and each way: made by a factory, or one object that all loops share.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "factory"),
    [("fastapi_shop", False), ("starlette_pages", True), ("flask_ledger", False)],
)
def test_published_applications_pass_in_threads(name: str, factory: bool) -> None:
    """First requests that all loops get at once are sent to the sound one."""
    lines = (APPLICATIONS / name / "requests.jsonl").read_text().splitlines()
    requests = [*map(json.loads, lines)][:: 3 if name == "flask_ledger" else 1]  # it books still
    application = f"{name}.main:{'create_app' if factory else 'app'}"
    found = check(application, requests, alone=1, firsts=0, factory=factory)
    assert (found.findings, found.models) == ([], ("threads",))
