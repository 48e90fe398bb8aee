"""Services are started once, shared by runs with the same needs, measured, and always ended."""

import asyncio
import errno
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import psutil
import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.journal.record import ParameterValue, ServiceUse
from scaling.run.probe import QUIET, Phase
from scaling.run.service_process import ServiceError, ServiceProcess, Usage
from scaling.run.services import Services, ServiceUsage, _Slices
from tests.support.children import PATIENCE_S, environment
from tests.support.refusing import failing
from tests.support.servers import fetch
from tests.support.waiting import wait_until
from workers.services.site.pages import list_page
from workers.services.site.stories import News

pytestmark = pytest.mark.one_build

SMALL: dict[str, ParameterValue] = {
    "pages": 2,
    "seed": 1,
    "delay_ms": 0,
    "stories_in_flight": 8,
    "parser": "lexbor",
}


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.slow
def test_a_run_gets_the_urls_of_its_services_and_what_they_used(services: Services) -> None:
    """Runs that need the same share them."""
    urls = services.need("site", SMALL)
    assert services.need("site", SMALL | {"parser": "stdlib", "stories_in_flight": 1}) == urls
    other = services.need("site", SMALL | {"seed": 2})
    assert other != urls
    assert fetch(f"{other[0]}/news")[2] == list_page(News(2, 2), 1)
    with services.during(["site"], SMALL) as usage:
        assert usage.urls == {"site": urls}
        first = usage.cpu_s()
        for _ in range(200):
            assert fetch(f"{urls[0]}/news")[2] == list_page(News(1, 2), 1)
        assert usage.cpu_s() > first
    used = usage.use()["site"]
    assert (used.rss_bytes or 0) > 10_000_000
    assert (used.cpu_s or 0) > 0
    assert 0 < (used.busy_fraction or 0) < 1.5
    with services.during([], SMALL) as usage:
        assert (usage.urls, usage.cpu_s(), usage.use()) == ({}, 0.0, {})


@pytest.mark.slow
def test_runs_that_are_alive_at_once_have_services_of_their_own() -> None:
    """Leaving the block ends them all."""
    other, before = SMALL | {"seed": 2}, children()
    with Services(sys.executable, environment()) as services:
        shared = services.need("site", SMALL)
        with services.during(["site"], SMALL) as first:
            assert first.urls["site"] == shared
            with services.during(["site"], SMALL) as second:
                assert second.urls["site"] != shared
            with services.during(["site"], SMALL) as third:
                assert third.urls == second.urls  # the copy is there for the next one
            running = len(children())
            with services.during(["site"], other) as fourth:
                assert len(children()) == running  # in the place of the other copy
                fourth.end()
            with services.during(["site"], other) as fifth:
                assert fetch(f"{fifth.urls['site'][0]}/news")[0] == 200
            assert fetch(f"{shared[0]}/news")[0] == 200
    assert children() <= before
    services.close()


@dataclass
class AtWork:
    """A service whose processes have used these CPU seconds at each reading."""

    cpu_s: Callable[[], dict[int, float]]
    urls: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def usage(self) -> Usage:
        return Usage(1, self.cpu_s())

    def pids(self) -> list[int]:
        return [*self.cpu_s()]


def test_a_saturated_process_is_not_hidden_by_others_that_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = iter([0.0, 1.0, 3.0, 9.0])
    monkeypatch.setattr("scaling.run.services.time.monotonic", lambda: next(now_s))
    idle = dict.fromkeys(range(2, 5), 0.0)
    readings = iter([{1: used_s, **idle} for used_s in (0.0, 0.1, 1.7, 1.8)])
    at_work = AtWork(readings.__next__, ["http://127.0.0.1"])
    usage = ServiceUsage({"site": cast(ServiceProcess, at_work)})
    for _ in range(4):
        usage.read()
    used = usage.use()["site"]
    assert used.busy_fraction == pytest.approx(0.8)
    assert used.cpu_s == pytest.approx(1.8)


class Clocks:
    """Time passes when somebody sleeps; process 1 works for 0.8 of it, any other for 0.1."""

    def __init__(self) -> None:
        self.now_ns = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    async def until(self, instant_ns: int) -> None:
        self.now_ns = instant_ns

    def clock_gettime_ns(self, clock: int) -> int:
        process = ~(clock >> 3)
        return self.now_ns * (8 if process == 1 else 1) // 10


def test_in_slices_a_busy_process_is_not_hidden_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    monkeypatch.setattr("scaling.run.services.time", clocks)
    monkeypatch.setattr("scaling.run.services.until", clocks.until)
    slices = _Slices()
    slices.pids = {"site": [2, 1, 3, 4]}
    for opens_ns in (100_000_000, 400_000_000):
        asyncio.run(slices.add(opens_ns, opens_ns + 50_000_000))
    assert slices.busy_fraction("site") == pytest.approx(0.8)
    assert slices.cpu_s("site") == pytest.approx(0.1 * (0.8 + 3 * 0.1))


@pytest.mark.slow
def test_what_it_can_deliver_is_measured_without_a_delay_of_its_own(services: Services) -> None:
    """32 connections get no more than 64 answers a second from a server that waits for 500 ms."""
    ceiling = services.ceiling("site", SMALL | {"delay_ms": 500}, seconds=0.5)
    assert (ceiling.service, ceiling.processes) == ("site", 1)
    assert ceiling.parameters == {"pages": 2, "seed": 1, "delay_ms": 500}
    assert ceiling.requests_per_s
    assert ceiling.mbytes_per_s
    assert ceiling.requests_per_s > 64
    # A list page has 34,000 bytes and a story 73,000: no count sees list pages alone.
    assert ceiling.mbytes_per_s * 1e6 / ceiling.requests_per_s > 60_000


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_one_that_died_or_was_stopped_is_started_again(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scaling.run.service_process.END_S", 0.1)  # it never ends by itself
    with Services(sys.executable, environment()) as services:
        urls = services.need("site", SMALL)
        with services.during(["site"], SMALL) as usage:
            (pid,) = (child for child in children() if served_by(child, urls[0]))
            process = psutil.Process(pid)
            process.send_signal(number)
            if number == signal.SIGKILL:
                psutil.wait_procs([process], timeout=PATIENCE_S)
            else:
                wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        if number == signal.SIGKILL:
            used = usage.use()["site"]
            assert used == ServiceUse(ended=used.ended)
            assert used.ended
        again = services.need("site", SMALL)
        assert fetch(f"{again[0]}/news")[0] == 200
        assert not psutil.pid_exists(pid)
    says = """echo '{"urls": ["http://127.0.0.1:1"]}'; echo no >&2; exit 3"""
    service = ServiceProcess("site", ["/bin/sh", "-c", says], {})
    assert service.last_words() == "no"
    service.close()
    assert service.last_words() == "no"


def served_by(pid: int, url: str) -> bool:
    ports = {each.laddr.port for each in psutil.Process(pid).net_connections("tcp4")}
    return int(url.rpartition(":")[2]) in ports


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit('no aiohttp here')", "no aiohttp here"),
        ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL"),
        ("import sys; sys.stdin.read()", r"not ready after 0\.5 s"),
    ],
)
def test_one_that_does_not_start_says_why(
    code: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "ready" in why:
        monkeypatch.setattr("scaling.run.service_process.READY_S", 0.5)
    before = children()
    with pytest.raises(ServiceError, match=why):
        ServiceProcess("site", [sys.executable, "-c", code], environment())
    assert children() <= before
    monkeypatch.setattr("tempfile.TemporaryFile", failing(errno.ENOSPC))
    with pytest.raises(ServiceError, match=r"'site' cannot be started: .*No space left on device"):
        ServiceProcess("site", ["true"], {})


@pytest.mark.slow
def test_bad_parameters_get_a_one_line_error(services: Services) -> None:
    with pytest.raises(ScalingError, match="--pages: expected at least 1") as raised:
        services.need("site", {"pages": 0})
    assert "\n" not in str(raised.value)
    with pytest.raises(UsageError, match="'database'; there are: site, responder"):
        services.need("database", {})
    with pytest.raises(ServiceError, match="cannot be started"):
        Services("/nowhere/python", environment()).need("site", SMALL)


class Unreadable:
    urls = ()

    def usage(self) -> Usage:
        raise KeyError("nowhere")


def test_a_reading_that_fails_in_the_window_fails_the_run() -> None:
    usage = ServiceUsage({"site": cast(ServiceProcess, Unreadable())})

    async def do() -> None:
        usage.at(Phase("load", {"instants_ns": [0, 0]}))
        await asyncio.sleep(0.05)
        usage.at(Phase(QUIET))

    with pytest.raises(KeyError, match="nowhere"):
        asyncio.run(do())
