"""A fault is of an inherited context if it goes away without one, and comes back with it.

Where nobody listens any more, the client ends with the reason; a hang names the user's own line.
"""

import faulthandler
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaling.analysis.causes import stuck
from scaling.analysis.safety import Seen
from scaling.journal.beside import AppCheck, Finding, Kind
from scaling.journal.record import GilStates
from scaling.run.app_check import Checker, _with_inherited
from scaling.run.load import LoadError

FREE = [Seen(workers=2, gil=[GilStates(started=False)])]
MIXED_UP = Finding(kind="mixed-up", request="GET /", message="hello bob", remedy="")
OTHER_LOOP = Finding(kind="other-loop", request="", message="a lock", remedy="")
FOUND = AppCheck(ok=False, findings=[OTHER_LOOP, MIXED_UP])


def judged(seen: list[set[Kind]], several: list[Seen]) -> tuple[list[Kind], int]:
    """The kinds of the result, and how often it was tried again; `seen` is found each time."""
    answers: Iterator[set[Kind]] = iter(seen)
    asked: list[bool] = []

    def kinds(*, inherit: bool) -> set[Kind]:
        asked.append(inherit)
        return next(answers)

    found = _with_inherited(FOUND, several, kinds)
    assert asked == [False, True, False][: len(asked)]
    return [each.kind for each in found.findings], len(asked)


@pytest.mark.parametrize(
    ("seen", "kind", "tries"),
    [
        ([set(), {"mixed-up"}, set()], "context-inherited", 3),
        ([{"error"}, {"mixed-up"}, {"error"}], "context-inherited", 3),
        ([{"mixed-up"}], "mixed-up", 1),
        ([set(), set()], "mixed-up", 2),
        ([set(), {"mixed-up"}, {"mixed-up"}], "mixed-up", 3),
    ],
)
def test_it_goes_away_comes_back_and_goes_away(
    seen: list[set[Kind]], kind: Kind, tries: int
) -> None:
    assert judged(seen, FREE) == (["other-loop", kind], tries)


def test_threads_of_a_build_with_the_gil_inherit_nothing() -> None:
    with_gil = [Seen(workers=2, gil=[GilStates(started=True)])]
    assert judged([], with_gil) == (["other-loop", "mixed-up"], 0)


def test_a_refused_connection_is_a_missing_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    checker = Checker([{"path": "/"}], together_s=0.1)
    with pytest.raises(LoadError, match="a request was not answered"):
        checker.connect([f"http://127.0.0.1:{port}"], [])
    ((answer,),) = checker.answers
    assert "no answer: ConnectionRefusedError" in answer.failure


APPLICATION = "import threading\ndef wait(event, ready):\n    ready.set()\n    event.wait()\n"


def test_it_is_the_innermost_line_of_the_thread_that_is_not_ours() -> None:
    event, ready = threading.Event(), threading.Event()
    code: dict[str, object] = {}
    exec(compile(APPLICATION, "shop.py", "exec"), code)
    hangs = threading.Thread(target=code["wait"], args=(event, ready))  # type: ignore[arg-type]
    hangs.start()
    ready.wait()
    with tempfile.TemporaryFile("w+") as out:
        faulthandler.dump_traceback(out, all_threads=True)
        out.seek(0)
        text = out.read()
    event.set()
    hangs.join()
    # Our own files lie in folders here; a record has them without.
    assert stuck(text.replace(f"{Path(__file__).parent}/", "tests/")) == " (shop.py, line 4)"


def test_host_and_worker_that_wait_for_each_other_are_left_out() -> None:
    ours = 'Thread 0x01 (most recent call first):\n  File "channel.py", line 155 in receive\n'
    theirs = 'Current thread 0x02 (most recent call first):\n  File "shop.py", line 7 in app\n'
    assert stuck(ours + theirs) == " (shop.py, line 7)"
    assert stuck(ours) == ""
    assert stuck("no stacks at all") == ""
