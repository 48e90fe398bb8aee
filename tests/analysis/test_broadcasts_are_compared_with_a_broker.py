"""Messages between loops of threads over those through a broker: ratios, and columns of rooms."""

from dataclasses import replace

import numpy as np
import pytest

from scaling.base.errors import UsageError
from scaling.journal.record import (
    Cell,
    Memory,
    ParameterFacts,
    RunLine,
    ServiceUse,
)
from scaling.study.plan.groups import Planned
from scaling.study.questions import (
    CONNECTION,
    CPU_OF_ALL,
    OVER_SERVER,
    P99,
    every_ratio,
)
from scaling.study.settle import sweep
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

RATES = (100.0, 200.0, 400.0)
ROOMS, CONNECTIONS, MIB = 3, 30, 1 << 20


def cells() -> list[Cell]:
    places = [("3.14t", "threads", "loops")]
    places += [("3.14", model, "broker") for model in ("processes", "forked")]
    return [
        Cell(
            workload="broadcast",
            loop="asyncio",
            arm=arm,
            model=model,
            workers=2,
            parameters={"rate_per_s": rate, "room": 10, "through": through},
        )
        for rate in RATES
        for arm, model, through in places
    ]


def test_threads_are_over_all_processes_with_a_broker_at_each_rate() -> None:
    found = [
        each
        for each in every_ratio(Planned(cells(), lambda _: "cores"))
        if each.question == OVER_SERVER
    ]
    assert {each.measure for each in found} == {P99, CPU_OF_ALL, CONNECTION}
    assert len(found) == 3 * len(RATES)
    for each in found:
        assert (each.of.arm, each.of.model) == ("3.14t", "threads")
        assert [over.model for over in each.among] == ["processes", "forked"]
        assert {over.parameters["rate_per_s"] for over in each.among} == {
            each.of.parameters["rate_per_s"]
        }
        assert {over.parameters["through"] for over in each.among} == {"broker"}
    (headline,) = [each for each in found if each.headline]
    assert (headline.measure, headline.of.parameters["rate_per_s"]) == (P99, 200.0)


def test_there_is_no_closed_loop_to_calibrate() -> None:
    rate = ParameterFacts(type="float", default=100.0, at_least=0.01)
    assert sweep(rate, 5, "here", is_rate=True) == (5.0,)
    for asked in ("50%", "grid"):
        with pytest.raises(UsageError, match="a calibration measures a closed loop"):
            sweep(rate, asked, "here", is_rate=True)
    with pytest.raises(UsageError, match=r"expected a number, at least 0\.01"):
        sweep(rate, 0, "here", is_rate=True)


def to_rooms(run: RunLine) -> RunLine:
    """The run as one of rooms, with a broker between processes."""
    rate = run.cell.parameters["rate_per_s"]
    assert isinstance(rate, float)
    memory = Memory(idle_pss_bytes=20 * MIB, pss_bytes=23 * MIB)
    broker = {"broker": ServiceUse(window_cpu_s=0.5, memory_bytes=MIB, connections=4)}
    return with_(
        run,
        memory=memory,
        services=broker if run.cell.model == "processes" else {},
        load__rooms=ROOMS,
        load__delivered_per_s=10 * rate,
    )


SERVED = FakeServedStudy(
    connections=CONNECTIONS,
    rates=(200.0,),
    workers=(1,),
    parameters={"room": 10, "through": "broker"},
)


def test_rooms_have_columns_of_their_own() -> None:
    frame = replace(SERVED, change=to_rooms).frame
    assert (frame["delivered_per_s"] == 2_000.0).all()
    assert frame["connection_bytes"].to_numpy() == pytest.approx(3 * MIB / CONNECTIONS)
    beside = frame[frame["model"] == "processes"]
    total = beside["cpu_s_per_op"] + 0.5 / beside["operations"]
    assert beside["stack_cpu_s_per_op"].to_numpy() == pytest.approx(total.to_numpy())
    alone = frame[frame["model"] == "threads"]
    assert (alone["stack_cpu_s_per_op"] == alone["cpu_s_per_op"]).all()
    assert np.isnan(SERVED.frame[["delivered_per_s", "connection_bytes"]]).all(axis=None)


def test_a_server_that_falls_behind_by_more_messages_than_there_are_rooms_is_labelled() -> None:
    """With as many connections, as many requests could be in flight."""

    def behind(run: RunLine) -> RunLine:
        missing = 20.0  # messages: more than the rooms, fewer than the connections
        assert run.load
        made = to_rooms(run)
        return with_(made, load__achieved_per_s=run.load.offered / 1.0 - missing)

    frame = replace(SERVED, window_s=1.0, change=behind).frame
    assert all("saturated" in reasons for reasons in frame["reasons"])
