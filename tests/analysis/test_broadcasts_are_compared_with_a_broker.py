"""Messages to rooms are sent at a rate that is given; a server that falls behind is labelled."""

from dataclasses import replace

import pytest

from scaling.base.errors import UsageError
from scaling.journal.record import ParameterFacts, RunLine
from scaling.study.settle import sweep
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

ROOMS, CONNECTIONS = 3, 30


def test_there_is_no_closed_loop_to_calibrate() -> None:
    rate = ParameterFacts(type="float", default=100.0, at_least=0.01)
    assert sweep(rate, 5, "here", is_rate=True) == (5.0,)
    for asked in ("50%", "grid"):
        with pytest.raises(UsageError, match="a calibration measures a closed loop"):
            sweep(rate, asked, "here", is_rate=True)
    with pytest.raises(UsageError, match=r"expected a number, at least 0\.01"):
        sweep(rate, 0, "here", is_rate=True)


SERVED = FakeServedStudy(
    connections=CONNECTIONS,
    rates=(200.0,),
    workers=(1,),
    parameters={"room": 10, "through": "broker"},
)


def test_a_server_that_falls_behind_by_more_messages_than_there_are_rooms_is_labelled() -> None:
    """With as many connections, as many requests could be in flight."""

    def behind(run: RunLine) -> RunLine:
        missing = 20.0  # messages: more than the rooms, fewer than the connections
        assert run.load
        return with_(run, load__rooms=ROOMS, load__achieved_per_s=run.load.offered - missing)

    frame = replace(SERVED, window_s=1.0, change=behind).frame
    assert all("saturated" in reasons for reasons in frame["reasons"])
