"""What is published to a room reaches each member once, in order, on whatever loop it is.

A member that stops reading, and a broker that dies, are recorded. What a member notices is tested
with `test_load_is_sent_to_rooms.py`.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from valkey.asyncio import Valkey

from scaling.journal.record import ParameterValue, ServiceUse
from scaling.run.child import Ending
from scaling.run.services import Services
from tests.support.children import FREE_THREADED, each_case, failure_of
from tests.support.servers import kill_valkey, left_in
from tests.support.serving import beside_services, load_asked, load_of
from workers import Worker
from workers.describe import load_choices, refusals
from workers.host.models import MODELS
from workers.workloads.broadcast import Broadcast
from workers.workloads.parts.rooms import BrokerRooms

pytestmark = [pytest.mark.slow, pytest.mark.needs("servers")]

WORKERS, CONNECTIONS, ROOM, RATE = 2, 10, 5, 100.0
SIZES: dict[str, ParameterValue] = {"connections": CONNECTIONS, "room": ROOM, "rate_per_s": RATE}
WINDOW_S = 1.0  # a stall of 75 ms before one of 0.5 s moves 15 % of the messages into it


def broadcast(
    services: Services,
    parameters: Mapping[str, ParameterValue],
    *,
    model: str = "threads",
    window_s: float = WINDOW_S,
    at: Callable[[str, object], None] = lambda _phase, _usage: None,
) -> tuple[Ending, dict[str, ServiceUse]]:
    """One run of two workers; `at` is called at each phase."""
    asked = {**SIZES, **parameters}
    rate, connections = asked["rate_per_s"], asked["connections"]
    assert isinstance(rate, float)
    assert isinstance(connections, int)
    load = load_asked(WORKERS * connections, rate_per_s=rate)
    cell = {
        "workload": "broadcast",
        "workers": WORKERS,
        "model": model,
        "parameters": asked,
        "warmup_s": 0.2,
        "window_s": window_s,
        "ticks": 2,
    }
    return beside_services(services, cell, load=load, at=at)


@each_case(
    ("model", "parameters"),
    [
        ("threads", {"server": "aiohttp", "protocol": "sse"}),
        ("threads", {"server": "starlette", "protocol": "websocket", "sending": "in-turn"}),
        ("processes", {"server": "aiohttp", "protocol": "websocket", "through": "broker"}),
        ("forked", {"server": "starlette", "protocol": "sse", "through": "broker"}),
    ],
)
def test_all_members_receive_each_message_once(
    model: str, parameters: dict[str, ParameterValue], services: Services
) -> None:
    ending, used = broadcast(services, parameters, model=model)
    load = load_of(ending)
    assert (load.errors, load.rooms) == ({}, WORKERS * CONNECTIONS // ROOM)
    assert load.offered - load.completed == sum(load.unfinished.count)
    assert load.completed > RATE * WINDOW_S / 2
    assert load.delivered_per_s == pytest.approx(ROOM * load.achieved_per_s, rel=0.15)
    assert ending.record
    assert ending.record.process.gil.seen == (not FREE_THREADED,) * 4
    done = [each.ticks.operations[-1] - each.ticks.operations[0] for each in ending.record.workers]
    assert sum(done) == pytest.approx(ROOM * load.offered, rel=0.15)
    assert min(done) > 0.3 * sum(done)  # rooms are spread over both
    assert {each.errors for each in ending.record.workers} == {0}
    assert ending.memory.idle_pss_bytes
    assert set(used) == ({"broker"} if "through" in parameters else set())


@pytest.mark.one_build
def test_others_wait_for_a_member_that_stops_reading_only_if_sent_to_in_turn(
    services: Services,
) -> None:
    each_bytes = 1 << 18  # the system takes about ten of them
    few: dict[str, ParameterValue] = {"connections": 2, "room": 4, "rate_per_s": 40.0}
    kept, waiting = {}, {}
    for sending in ("queues", "in-turn"):
        asked = {**few, "sending": sending, "stalled": 1, "message_bytes": each_bytes}
        ending, _ = broadcast(services, asked, window_s=0.9)
        load = load_of(ending)
        assert load.errors == {}
        assert ending.record
        figures = [each.figures for each in ending.record.workers]
        kept[sending] = max(each["queued_max_bytes"] for each in figures)
        assert max(each["buffered_max_bytes"] for each in figures) > 0
        waiting[sending] = sum(load.unfinished.count)
    assert kept["queues"] > 5 * each_bytes
    assert waiting["in-turn"] > 5 + waiting["queues"]


@pytest.mark.one_build
def test_a_broker_that_dies_in_the_window_is_a_labelled_run(
    place: Path, services: Services
) -> None:
    def kill(phase: str, _usage: object) -> None:
        if phase == "load":
            threading.Timer(0.5, kill_valkey, [place]).start()

    ending, used = broadcast(
        services, {"through": "broker"}, model="processes", window_s=3.0, at=kill
    )
    failure = failure_of(ending)
    assert failure.phase == "window"
    assert "ConnectionError" in failure.error
    assert "SIGKILL" in used["broker"].ended
    assert left_in(place) == []


@pytest.mark.one_build
def test_a_broker_may_be_silent_for_longer_than_its_client_waits_by_default(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default its client gives up after 5 s, and here after 0.1 s."""
    whole = Valkey.from_url
    short = {"socket_timeout": 0.1}
    monkeypatch.setattr(Valkey, "from_url", lambda url, **asked: whole(url, **{**short, **asked}))

    async def wait(url: str) -> None:
        rooms = BrokerRooms(Worker(0, 1, {}), "queues", url)
        await rooms.open()
        try:
            await asyncio.wait_for(rooms.until(asyncio.Event().wait()), 0.5)
        finally:
            await rooms.close()

    with services.during(["broker"], {}) as usage, pytest.raises(TimeoutError):
        asyncio.run(wait(usage.urls["broker"][0]))


@pytest.mark.one_build
def test_the_plan_knows_of_two_choices_that_exclude_each_other() -> None:
    both = {"protocol": "sse", "sending": "in-turn"}
    path, loaded = "workers.workloads.broadcast:Broadcast", load_choices(Broadcast)
    found = refusals(path, Broadcast, ["asyncio"], loaded, None)
    reasons = {each["model"]: each["reason"] for each in found if each["parameters"] == both}
    assert reasons.keys() == set(MODELS)
    assert all("use sending=queues" in each for each in reasons.values())
