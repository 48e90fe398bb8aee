"""The time until P99 is back counts from the end of the overload, by the share of slow requests."""

import random
from dataclasses import replace

import numpy as np
import pytest

from scaling.analysis.table.load import Rows
from scaling.analysis.table.overload import Recovery, recovery_of
from scaling.journal.record import Cell, Load, Overload, RunLine, SubWindow
from scaling.report.files import tables_markdown
from tests.support.runs import changing, with_
from tests.support.served_studies import FakeServedStudy, histogram
from tests.support.studies import FakeStudy

CALM_S, SLOW_S = 0.020, 0.900
DUE = 500  # in each half second
PARTS, WINDOW_S, AFTER_S, LASTS_S = 60, 30.0, 5.0, 10.0
MADE = FakeStudy(window_s=WINDOW_S)


def part(
    latency_s: float = CALM_S, *, offered: int = DUE, slow: int = 0, lost: int = 0
) -> SubWindow:
    """Half a second: `slow` of its requests take 900 ms, `lost` have no good answer."""
    good = np.full(offered - slow - lost, latency_s)
    times = histogram(np.append(good, np.full(slow, SLOW_S)))
    return SubWindow(answered=offered - lost, offered=offered, latency=times)


def run(parts: list[SubWindow], declined: dict[str, int] | None = None) -> RunLine:
    cell = Cell(
        workload="gateway",
        parameters={"rate_per_s": 1_000.0, "deadline_ms": 1_000, "in_flight_limit": 0},
        loop="asyncio",
        arm="3.14t",
        model="threads",
        workers=2,
        region="cores",
    )
    load = Load(
        rate_per_s=1_000.0,
        overload=Overload(factor=3.0, after_s=AFTER_S, lasts_s=LASTS_S),
        offered=sum(each.offered or 0 for each in parts),
        declined=declined or {},
        windows=parts,
        connections=1_024,
    )
    return with_(MADE.run(cell, random.Random(1)), load=load)


def course(*after: SubWindow) -> Recovery:
    """A calm stretch, an overload of slow answers, then `after` and calm ones up to the end."""
    parts = [*[part()] * 10, *[part(SLOW_S)] * 20, *after]
    return recovery_of(run([*parts, *[part()] * (PARTS - len(parts))]))


def test_p99_of_the_overload_and_of_the_calm_before_it() -> None:
    found = course()
    assert found.calm_p99_s == pytest.approx(CALM_S, rel=0.01)
    assert found.p99_s == pytest.approx(SLOW_S, rel=0.01)
    assert found.good_per_s == 2 * DUE


@pytest.mark.parametrize("parts", [0, 1, 7])
def test_slow_answers_put_it_off(parts: int) -> None:
    found = course(*[part(SLOW_S)] * parts)
    assert (found.recovery_s, found.recovered) == (parts / 2, 1)


@pytest.mark.parametrize("lost", [{"lost": 400}, {"slow": 400}])
def test_a_request_without_a_good_answer_is_a_slow_one(lost: dict[str, int]) -> None:
    assert course(part(), part(), part(**lost)).recovery_s == 1.5


def test_one_percent_of_slow_ones_is_what_a_p99_allows() -> None:
    rest = [part(slow=4)] * 30
    assert course(*rest).recovery_s == 0
    assert course(*[part(slow=6)] * 30).recovered == 0


def test_a_run_that_is_never_calm_again_gives_a_bound_and_says_so() -> None:
    found = course(*[part(SLOW_S)] * 30)
    assert found.recovered == 0
    assert found.recovery_s == 13.0  # the last moment with 2,000 requests to go
    line = run([*[part()] * 10, *[part(SLOW_S)] * 50])
    rows = Rows([line], MADE.first_line)
    assert "not-recovered" in rows["reasons"][0]


def test_too_few_calm_requests_give_no_figure() -> None:
    few = [part(offered=100)] * PARTS
    assert np.isnan(recovery_of(run(few)).recovery_s)


def test_runs_without_an_overload_have_none() -> None:
    line = run([part()] * PARTS)
    assert np.isnan(recovery_of(with_(line, load__overload=None)).calm_p99_s)


def test_what_is_declined_is_a_share_and_no_error() -> None:
    declined = {"status 503": 3_000, "status 504": 600}
    line = run([part()] * PARTS, declined)
    rows = Rows([line], MADE.first_line)
    assert rows["refused_fraction"][0] == pytest.approx(0.1)
    assert rows["deadline_missed_fraction"][0] == pytest.approx(0.02)
    assert rows["load_declined"][0] == 3_600
    assert rows["load_errors"][0] == 0
    assert "load-errors" not in rows["reasons"][0]


def test_declined_requests_of_a_closed_loop_make_its_throughput_suspect() -> None:
    line = with_(run([part()] * PARTS, {"status 503": 3_600}), load__overload=None)
    closed = with_(line, load__rate_per_s=None)
    rows = Rows([line, closed], MADE.first_line)
    of_open, of_closed = rows["reasons"]
    assert "load-declined" not in of_open  # columns have them
    assert "load-declined" in of_closed
    assert any("12.0% of the requests" in each for each in rows["details"][1])


@pytest.mark.parametrize("after_s", [WINDOW_S - 5, WINDOW_S + 1])
def test_an_overload_beyond_the_window_is_no_missed_rate(after_s: float) -> None:
    inside_s = max(0.0, WINDOW_S - after_s)
    line = with_(
        run([part()] * PARTS),
        load__overload=Overload(factor=3.0, after_s=after_s, lasts_s=LASTS_S),
        load__offered=round(1_000 * (WINDOW_S + 2 * inside_s)),
    )
    rows = Rows([line], MADE.first_line)
    assert "rate-missed" not in rows["reasons"][0]


def test_tables_show_what_was_declined_and_that_it_is_in_no_latency() -> None:
    made = FakeServedStudy(
        rates=(400.0,), blocks=1, workers=(2,), parameters={"deadline_ms": 1_000}
    )

    declined = replace(made, change=changing(load__declined={"status 504": 40}))
    text = tables_markdown(declined.results)
    assert "deadline missed %" in text
    assert "given up at the deadline are in no latency" in text
    plain = FakeServedStudy(rates=(400.0,), blocks=1).results
    assert "deadline missed" not in tables_markdown(plain)
