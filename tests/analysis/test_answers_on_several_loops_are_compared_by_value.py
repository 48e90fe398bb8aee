"""An answer differs by status, header or a value of its body; what varies at N = 1 says nothing."""

import json
from typing import Any

import pytest

from scaling.analysis.check.answers import Answer, Reference
from scaling.analysis.check.causes import BY_KIND
from scaling.analysis.check.exceptions import fatal, raised
from scaling.analysis.check.findings import Judge, Seen
from scaling.journal.beside import KINDS, Finding
from scaling.journal.record import GilStates
from tests.support.children import ROOT

TEXT = ("content-type", "text/html")


def answer(document: object, *headers: tuple[str, str], status: int = 200) -> Answer:
    return Answer(status=status, headers=headers, body=json.dumps(document).encode())


def differs(known: list[Answer], found: Answer) -> str | None:
    difference = Reference(known).difference(found)
    return difference.field if difference else None


def test_json_is_compared_by_value() -> None:
    known = Answer(status=200, body=b'{"a": 1, "b": [1, 2]}')
    assert differs([known], Answer(status=200, body=b'{"b":[1,2],"a":1}')) is None
    assert differs([known], Answer(status=200, body=b'{"b":[1,3],"a":1}')) == "body/b/1"
    assert differs([known], Answer(status=200, body=b'{"b":[1,2]}')) == "body/#"


@pytest.mark.parametrize("found", [{"id": 9, "name": "tea"}, {"id": 2, "name": "tea"}])
def test_fields_that_vary_at_one_loop_may_be_anything(found: object) -> None:
    known = [answer({"id": 1, "name": "tea"}), answer({"id": 2, "name": "tea"})]
    assert differs(known, answer(found)) is None


def test_other_fields_may_not() -> None:
    known = [answer({"id": 1, "name": "tea"}), answer({"id": 2, "name": "tea"})]
    assert differs(known, answer({"id": 3, "name": "milk"})) == "body/name"


def test_lists_that_grow_at_one_loop_may_be_longer() -> None:
    known = [answer({"items": [{"n": 1}]}), answer({"items": [{"n": 1}, {"n": 2}]})]
    assert differs(known, answer({"items": [{"n": 1}, {"n": 2}, {"n": 3}]})) is None


def test_headers_of_the_transport_do_not_count() -> None:
    known = [Answer(status=200, headers=(TEXT, ("date", "Mon"), ("server", "uvicorn")))]
    assert differs(known, Answer(status=200, headers=(TEXT, ("date", "Tue")))) is None
    assert differs(known, Answer(status=200)) == "header content-type"
    twice = Answer(status=200, headers=(TEXT, TEXT))
    assert differs(known, twice) == "header content-type"


def test_text_is_compared_by_line() -> None:
    known = [Answer(status=200, body=f"<p>{n}</p>\n<h1>Tea</h1>".encode()) for n in (1, 2)]
    assert differs(known, Answer(status=200, body=b"<p>7</p>\n<h1>Tea</h1>")) is None
    assert differs(known, Answer(status=200, body=b"<p>7</p>\n<h1>Milk</h1>")) == "body/1"


def test_bytes_are_compared_too() -> None:
    assert (
        differs([Answer(status=200, body=b"\xff\x00")], Answer(status=200, body=b"\xff")) == "body"
    )


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


def test_equal_answers_are_sound() -> None:
    assert judged() == []


def test_answer_of_another_request_is_mixed_up() -> None:
    assert kinds(judged(answers=[[TEA, MILK], [MILK]])) == [("mixed-up", "GET /tea")]


def test_answer_of_no_request_differs() -> None:
    beer = answer({"name": "beer"})
    assert kinds(judged(answers=[[TEA], [MILK, beer]])) == [("differs", "GET /milk")]


def test_missing_answer_is_a_finding() -> None:
    none = Answer(failure="no answer within 4 s")
    assert kinds(judged(answers=[[none], [MILK]])) == [("no-answer", "GET /tea")]


def test_error_has_the_words_of_its_exception() -> None:
    text = 'Traceback (most recent call last):\n  File "shop.py", line 12, in f\nKeyError: 3\n'
    samples = ["ValueError: 2", "KeyError: 3"]
    broken = [[answer({}, status=500)], [MILK]]
    (found,) = judged(answers=broken, text=text, samples=samples)
    assert found.kind == "error"
    assert "KeyError: 3 (shop.py, line 12)" in found.message


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("failed", "failed-to-start"), ("crashed", "crashed"), ("timed-out", "no-answer")],
)
def test_run_that_ends_badly_is_a_finding(outcome: str, kind: str) -> None:
    found = judged(outcome=outcome, answers=[[], []], text="Segmentation fault")
    assert kinds(found) == [(kind, "")]
    assert "Segmentation fault" in found[0].message


def test_a_port_that_the_application_binds_is_said_to_be_its_own() -> None:
    (found,) = judged(outcome="failed", answers=[[], []], text=TAKEN)
    assert (found.kind, "bind no port" in found.remedy) == ("failed-to-start", True)


def test_gil_that_an_import_enables_is_a_finding_and_that_of_the_arm_is_none() -> None:
    flipped = GilStates(started=False, imported=True, enabled_by="brotli")
    (found,) = judged(gil=[flipped])
    assert (found.kind, "brotli" in found.message) == ("gil-enabled", True)
    assert judged(gil=[GilStates(started=True, imported=True)]) == []


def test_exceptions_of_a_group_are_read() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "asyncio/base.py", line 3, in run
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "shop.py", line 9, in pay
    |   File "asyncio/locks.py", line 30, in acquire
    | RuntimeError: <Lock> is bound to a different event loop
"""
    assert list(map(str, raised(text))) == [
        "RuntimeError: <Lock> is bound to a different event loop (shop.py, line 9)"
    ]


OURS = """\
Exception ignored in: <callback>
Traceback (most recent call last):
  File "shop.py", line 9, in pay
  File "workers/workloads/parts/watched.py", line 324, in _start
TypeError: startswith first arg must be str or a tuple of str, not NoneType
Traceback (most recent call last):
  File "workers/workloads/parts/watched.py", line 90, in _wait
  File "threading.py", line 700, in wait
threading.BrokenBarrierError
"""
THROUGH_OURS = """\
Traceback (most recent call last):
  File "uvicorn/protocols/http/httptools_impl.py", line 400, in run_asgi
  File "workers/workloads/parts/watched.py", line 120, in called
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
    (found,) = judged(answers=broken, text=OURS + THROUGH_OURS)
    assert "ValueError: no money (shop.py, line 9); the client saw" in found.message


def test_a_run_that_ends_with_words_of_ours_has_none_of_the_application() -> None:
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


def test_a_crash_has_its_place() -> None:
    text = """\
Fatal Python error: Segmentation fault

Thread 0x0001 [worker-1] (most recent call first):
  File "ctypes/__init__.py", line 521 in string_at
  File "shop.py", line 17 in pay
"""
    assert fatal(text) == "Segmentation fault (shop.py, line 17)"
    assert fatal("nothing") == fatal("Fatal Python error: ") == ""


def test_every_kind_has_a_remedy_and_is_explained() -> None:
    text = (ROOT / "scaling" / "application.md").read_text()
    for kind in KINDS:
        assert BY_KIND[kind].remedy
        assert f"`{kind}`" in text


def test_what_only_goes_wrong_at_the_first_requests_is_built_lazily() -> None:
    sound = Seen(workers=1, answers=[[answer({"title": "tea"})]])
    error = Answer(status=500, body=b"")
    broken = Seen(workers=4, answers=[[error]], samples=["KeyError: 'title'"])
    several = Seen(workers=4, answers=sound.answers)
    judge = Judge(["GET /"], [sound])
    (found,) = judge.findings([several], [broken, broken])
    assert (found.kind, found.remedy) == ("built-lazily", BY_KIND["built-lazily"].remedy)
    assert found.message == "4 loops in threads: KeyError: 'title'; the client saw: status 500"
    other = Seen(workers=4, answers=[[answer({"title": "milk"})]])
    (always,) = judge.findings([other], [broken])
    assert always.kind == "differs"
