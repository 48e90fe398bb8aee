"""An answer differs by status, header or a value of its body; what varies at N = 1 says nothing."""

import json
from textwrap import indent
from typing import Any

import pytest

from scaling.analysis.check.answers import Answer, Reference
from scaling.analysis.check.causes import BY_KIND
from scaling.analysis.check.findings import Judge, Seen
from scaling.journal.check_file import KINDS, Finding
from tests.support.children import ROOT

TEXT = ("content-type", "text/html")


def answer(document: object, *headers: tuple[str, str], status: int = 200) -> Answer:
    return Answer(status=status, headers=headers, body=json.dumps(document).encode())


def text(*lines: str) -> Answer:
    return Answer(status=200, body="\n".join(lines).encode())


DOCUMENT = Answer(status=200, body=b'{"a": 1, "b": [1, 2]}')
NAMED = [answer({"id": 1, "name": "tea"}), answer({"id": 2, "name": "tea"})]
GROWING = [answer({"items": [{"n": 1}]}), answer({"items": [{"n": 1}, {"n": 2}]})]
LINES = [text(f"<p>{n}</p>", "<h1>Tea</h1>") for n in (1, 2)]
SERVED = [Answer(status=200, headers=(TEXT, ("date", "Mon"), ("server", "uvicorn")))]


@pytest.mark.parametrize(
    ("known", "found", "field"),
    [
        ([DOCUMENT], Answer(status=200, body=b'{"b":[1,2],"a":1}'), None),
        ([DOCUMENT], Answer(status=200, body=b'{"b":[1,3],"a":1}'), "body/b/1"),
        ([DOCUMENT], Answer(status=200, body=b'{"b":[1,2]}'), "body/#"),
        (NAMED, answer({"id": 9, "name": "tea"}), None),  # what varies at N = 1 may be anything
        (NAMED, answer({"id": 3, "name": "milk"}), "body/name"),
        (GROWING, answer({"items": [{"n": 1}, {"n": 2}, {"n": 3}]}), None),
        (SERVED, Answer(status=200, headers=(TEXT, ("date", "Tue"))), None),
        (SERVED, Answer(status=200), "header content-type"),
        (SERVED, Answer(status=200, headers=(TEXT, TEXT)), "header content-type"),
        (LINES, text("<p>7</p>", "<h1>Tea</h1>"), None),
        (LINES, text("<p>7</p>", "<h1>Milk</h1>"), "body/1"),
        ([Answer(status=200, body=b"\xff\x00")], Answer(status=200, body=b"\xff"), "body"),
    ],
)
def test_a_difference_has_its_place(known: list[Answer], found: Answer, field: str | None) -> None:
    difference = Reference(known).difference(found)
    assert (difference.field if difference else None) == field


# What is wrong.

TEA, MILK = answer({"name": "tea"}), answer({"name": "milk"})
ALONE = [Seen(workers=1, answers=[[TEA], [MILK]])] * 2
NAMES = ["GET /tea", "GET /milk"]
TAKEN = """
Traceback (most recent call last):
  File "/shop/main.py", line 37, in lifespan
    listener = socket.create_server(("", 9000))
OSError: [Errno 98] Address already in use
"""


def judged(**seen: Any) -> list[Finding]:
    several = Seen(**{"workers": 2, "answers": [[TEA], [MILK]], **seen})
    return Judge(NAMES, ALONE).findings([several])


def kinds(found: list[Finding]) -> list[tuple[str, str]]:
    return [(each.kind, each.request) for each in found]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([[TEA], [MILK]], []),
        ([[TEA, MILK], [MILK]], [("mixed-up", "GET /tea")]),
        ([[TEA], [MILK, answer({"name": "beer"})]], [("differs", "GET /milk")]),
        ([[Answer(failure="no answer within 4 s")], [MILK]], [("no-answer", "GET /tea")]),
    ],
)
def test_a_wrong_answer_has_its_kind(
    answers: list[list[Answer]], expected: list[tuple[str, str]]
) -> None:
    assert kinds(judged(answers=answers)) == expected


def test_a_port_that_the_application_binds_is_said_to_be_its_own() -> None:
    (found,) = judged(outcome="failed", answers=[[], []], text=TAKEN)
    assert (found.kind, "bind no port" in found.remedy) == ("failed-to-start", True)


OURS = """\
Exception ignored in: <callback>
Traceback (most recent call last):
  File "shop.py", line 9, in pay
  File "workers/workloads/check/watched.py", line 324, in _start
TypeError: startswith first arg must be str or a tuple of str, not NoneType
Traceback (most recent call last):
  File "workers/workloads/check/watched.py", line 90, in _wait
  File "threading.py", line 700, in wait
threading.BrokenBarrierError
"""
THROUGH_OURS = """\
Traceback (most recent call last):
  File "uvicorn/protocols/http/httptools_impl.py", line 400, in run_asgi
  File "workers/workloads/check/watched.py", line 120, in called
  File "shop.py", line 9, in pay
  File "<string>", line 3, in __init__
  File "asyncio/locks.py", line 30, in acquire
ValueError: no money
"""


def test_what_ours_raises_is_no_exception_of_the_application() -> None:
    """What is raised further in, or in what Python has made of the user's code, is the user's."""
    sample = "TypeError: startswith first arg must be str or a tuple of str, not NoneType"
    broken = [[answer({}, status=503)], [MILK]]
    (found,) = judged(answers=broken, text=OURS, samples=[sample])
    assert found.message == "2 loops in threads: status 503"
    for inside in ("", "    | "):  # of an exception group
        (found,) = judged(answers=broken, text=indent(OURS + THROUGH_OURS, inside))
        assert "ValueError: no money (shop.py, line 9); the client saw" in found.message
    (found,) = judged(outcome="crashed", answers=[[], []], text=OURS)
    assert (found.kind, found.message) == ("crashed", "2 loops in threads: crashed")


def test_exceptions_that_one_loop_raises_too_are_no_reason() -> None:
    alone = [Seen(workers=1, answers=[[TEA], [MILK]], text=THROUGH_OURS)]
    broken = Seen(workers=2, answers=[[answer({}, status=500)], [MILK]], text=THROUGH_OURS)
    (found,) = Judge(NAMES, alone).findings([broken])
    assert found.message == "2 loops in threads: status 500"


def test_a_fault_that_several_requests_show_is_one_finding() -> None:
    error, cut = answer({}, status=500), Answer(failure="the answer broke off after 3 bytes")
    (found,) = judged(answers=[[error], [cut]], text=THROUGH_OURS)
    assert (found.kind, found.request) == ("error", "GET /tea")
    without = judged(answers=[[error], [cut]])
    assert kinds(without) == [("no-answer", "GET /milk"), ("error", "GET /tea")]


def test_every_kind_has_a_remedy_and_is_explained() -> None:
    text = (ROOT / "scaling" / "application.md").read_text()
    for kind in KINDS:
        assert BY_KIND[kind].remedy
        assert f"`{kind}`" in text
