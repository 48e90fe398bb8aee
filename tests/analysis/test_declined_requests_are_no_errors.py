"""What a server declines is a share of the requests and no error; an overload is no missed rate."""

import random

import pytest

from scaling.analysis.table.load import rows_of
from scaling.journal.record import Cell, Load, Overload, RunLine
from tests.support.runs import with_
from tests.support.studies import FakeStudy

WINDOW_S = 30.0
MADE = FakeStudy(window_s=WINDOW_S)


def run(declined: dict[str, int] | None = None, **load: object) -> RunLine:
    """30,000 requests in an open loop."""
    cell = Cell(
        workload="gateway",
        parameters={"rate_per_s": 1_000.0, "deadline_ms": 1_000, "in_flight_limit": 0},
        loop="asyncio",
        arm="3.14t",
        model="threads",
        workers=2,
    )
    asked = Load(rate_per_s=1_000.0, offered=30_000, declined=declined or {}, connections=1_024)
    line = with_(MADE.run(cell, random.Random(1)), load=asked)
    return with_(line, **{f"load__{name}": value for name, value in load.items()})


def test_what_is_declined_is_a_share_and_no_error() -> None:
    declined = {"status 503": 3_000, "status 504": 600}
    line = run(declined)
    rows = rows_of([line], MADE.first_line)
    assert rows["refused_fraction"][0] == pytest.approx(0.1)
    assert rows["deadline_missed_fraction"][0] == pytest.approx(0.02)
    assert rows["load_declined"][0] == 3_600
    assert rows["load_errors"][0] == 0
    assert "load-errors" not in rows["reasons"][0]


def test_declined_requests_of_a_closed_loop_make_its_throughput_suspect() -> None:
    line = run({"status 503": 3_600})
    closed = run({"status 503": 3_600}, rate_per_s=None)
    rows = rows_of([line, closed], MADE.first_line)
    of_open, of_closed = rows["reasons"]
    assert "load-declined" not in of_open  # columns have them
    assert "load-declined" in of_closed
    assert any("12.0% of the requests" in each for each in rows["details"][1])


@pytest.mark.parametrize("after_s", [WINDOW_S - 5, WINDOW_S + 1])
def test_an_overload_beyond_the_window_is_no_missed_rate(after_s: float) -> None:
    inside_s = max(0.0, WINDOW_S - after_s)
    line = run(
        overload=Overload(factor=3.0, after_s=after_s, lasts_s=10.0),
        offered=round(1_000 * (WINDOW_S + 2 * inside_s)),
    )
    rows = rows_of([line], MADE.first_line)
    assert "rate-missed" not in rows["reasons"][0]
