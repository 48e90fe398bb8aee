"""A fault is of an inherited context if it goes away without one, and comes back with it."""

from collections.abc import Iterator

import pytest

from scaling.analysis.safety.findings import Seen
from scaling.journal.beside import AppCheck, Finding, Kind
from scaling.journal.record import GilStates
from scaling.run.app_check import _with_inherited

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
