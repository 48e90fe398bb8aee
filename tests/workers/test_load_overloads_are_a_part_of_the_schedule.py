"""An overload is a stretch of the window with more requests due; all else stays as it was."""

from itertools import takewhile

import pytest

from workers.services.load.arrivals import KINDS, Overload, arrivals, overloaded, share
from workers.services.load.options import parser, read_options

SECOND_NS = 10**9
OPENS_NS = 3 * SECOND_NS  # after a warm-up
OVERLOAD = Overload(factor=4.0, after_s=2.0, lasts_s=5.0)
BEGIN_NS, END_NS = OPENS_NS + 2 * SECOND_NS, OPENS_NS + 7 * SECOND_NS


def due(kind: str, rate: float, place: int = 0, of: int = 1) -> list[int]:
    """Offsets of 20 s, of one process's part."""
    offsets = share(arrivals(kind, rate, 7), kind, 7, place, of)
    return list(takewhile(lambda at: at < 20 * SECOND_NS, overloaded(offsets, OVERLOAD, OPENS_NS)))


def within(offsets: list[int], begin_ns: int, end_ns: int) -> int:
    return sum(begin_ns <= at < end_ns for at in offsets)


def test_the_rate_is_multiplied_there_and_nowhere_else() -> None:
    found = due("constant", 100)
    assert within(found, 0, BEGIN_NS) == 500
    assert within(found, BEGIN_NS, END_NS) == 4 * 500
    assert within(found, END_NS, 20 * SECOND_NS) == 1_000


def test_poisson_arrivals_stay_poisson() -> None:
    """Counts within four standard deviations; gaps in the overload have the mean of its rate."""
    found = due("poisson", 500)
    for begin, end, expected in ((0, BEGIN_NS, 2_500), (BEGIN_NS, END_NS, 10_000)):
        assert within(found, begin, end) == pytest.approx(expected, abs=4 * expected**0.5)
    assert found == sorted(found)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_together_are_the_whole(kind: str) -> None:
    parts = [at for place in range(3) for at in due(kind, 200, place, 3)]
    assert sorted(parts) == due(kind, 200)


def test_it_may_begin_with_the_window() -> None:
    asked = ["tcp://127.0.0.1:9", "--rate=10", "--overload"]
    assert read_options(parser(), [*asked, "2", "0", "1"]).overload == Overload(2.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("0", "0", "1"), "argument --overload: FACTOR: expected 0.01 to 1,000, got '0'"),
        (("4", "soon", "1"), "argument --overload: AFTER_S: expected 0 to 3,600, got 'soon'"),
        (("4", "1", "1e9"), "argument --overload: S: expected 0 to 3,600, got '1e9'"),
        (("4", "1"), "argument --overload: expected 3 arguments"),
        (("4", "6", "10"), "--overload ends after 16 s: --seconds must be at least 16"),
    ],
)
def test_a_bad_number_is_named(
    asked: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_options(parser(), ["tcp://127.0.0.1:9", "--rate=10", "--overload", *asked])
    assert message in capsys.readouterr().err


def test_a_closed_loop_has_no_overload(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["tcp://127.0.0.1:9", "--overload", "4", "2", "5"]
    assert read_options(parser(), [*asked, "--rate=10"]).overload == OVERLOAD
    with pytest.raises(SystemExit):
        read_options(parser(), [*asked, "--rate=max"])
    assert "in a closed loop nothing is due" in capsys.readouterr().err
