"""Helpers are started once, shared by the runs that need the same, measured, and always ended."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import psutil
import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.journal.record import ServiceUse
from scaling.run.service_process import ServiceError, ServiceProcess, Usage
from scaling.run.service_usage import ServiceUsage
from scaling.run.services import Services
from tests.support.servers import LIMIT_S, environment, fetch, gone
from workers.services.site.pages import list_page
from workers.services.site.stories import News

pytestmark = pytest.mark.measures

SMALL = {"pages": 2, "seed": 1, "delay_ms": 0, "stories_in_flight": 8, "parser": "lexbor"}
COUNTED_S = 2.0  # for a ceiling: a machine may stall the site for one of them


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with Services(sys.executable, environment()) as running:
        yield running


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_site_is_shared_by_runs_that_need_the_same(services: Services) -> None:
    urls = services.need("site", SMALL)
    assert fetch(f"{urls[0]}/news")[2] == list_page(News(1, 2), 1)
    assert services.need("site", SMALL | {"parser": "stdlib", "stories_in_flight": 1}) == urls
    other = services.need("site", SMALL | {"seed": 2})
    assert other != urls
    assert fetch(f"{other[0]}/news")[2] == list_page(News(2, 2), 1)


def test_what_it_uses_is_read_from_outside(services: Services) -> None:
    urls = services.need("site", SMALL)
    before = services.usage("site", SMALL)
    for _ in range(200):
        fetch(f"{urls[0]}/news")
    after = services.usage("site", SMALL)
    assert before.rss_bytes is not None
    assert before.rss_bytes > 10_000_000
    assert before.cpu_s is not None
    assert after.cpu_s is not None
    assert after.cpu_s > before.cpu_s
    assert services.usage("site", SMALL | {"seed": 77}) == Usage(None, None)


def test_a_run_is_told_urls_and_use(services: Services) -> None:
    with services.during(["site"], SMALL) as helped:
        assert helped.urls == {"site": services.need("site", SMALL)}
        first = helped.cpu_s()
        for _ in range(200):
            fetch(f"{helped.urls['site'][0]}/news")
        assert helped.cpu_s() > first
    used = helped.use()["site"]
    assert used.rss_bytes is not None
    assert used.rss_bytes > 10_000_000
    assert used.cpu_s is not None
    assert used.cpu_s > 0
    assert used.busy_fraction is not None
    assert 0 < used.busy_fraction < 1.5
    with services.during([], SMALL) as helped:
        assert (helped.urls, helped.cpu_s(), helped.use()) == ({}, 0.0, {})


@dataclass
class AtWork:
    """A helper that has used these CPU seconds, one reading after the other."""

    cpu_s: Iterator[float]
    urls: list[str]

    def usage(self) -> Usage:
        return Usage(1, next(self.cpu_s))


@pytest.mark.parametrize(("processes", "busy"), [(1, 0.8), (4, 0.2)])
def test_how_busy_it_is_is_told_of_one_of_its_processes(
    monkeypatch: pytest.MonkeyPatch, processes: int, busy: float
) -> None:
    now_s = iter([0.0, 1.0, 3.0, 9.0])
    monkeypatch.setattr("scaling.run.service_usage.time.monotonic", lambda: next(now_s))
    at_work = AtWork(iter([0.0, 0.1, 1.7, 1.8]), ["http://127.0.0.1"] * processes)
    helped = ServiceUsage({"site": cast(ServiceProcess, at_work)})
    for _ in range(4):
        helped.read()
    used = helped.use()["site"]
    assert used.busy_fraction == pytest.approx(busy)
    assert used.cpu_s == pytest.approx(1.8)


def test_what_it_can_deliver_is_measured(services: Services) -> None:
    ceiling = services.ceiling("site", SMALL, seconds=COUNTED_S)
    assert ceiling.service == "site"
    assert ceiling.requests_per_s is not None
    assert ceiling.mbytes_per_s is not None
    assert ceiling.mbytes_per_s * 1e6 / ceiling.requests_per_s > 50_000


def test_a_delay_of_its_own_is_not_its_ceiling(services: Services) -> None:
    """32 connections get no more than 640 answers a second from a server that waits for 50 ms."""
    ceiling = services.ceiling("site", SMALL | {"delay_ms": 50}, seconds=COUNTED_S)
    assert ceiling.requests_per_s is not None
    assert ceiling.requests_per_s > 640


def test_one_that_died_is_started_again() -> None:
    with Services(sys.executable, environment()) as services:
        urls = services.need("site", SMALL)
        with services.during(["site"], SMALL) as helped:
            (pid,) = (child for child in children() if served_by(child, urls[0]))
            psutil.Process(pid).kill()
            psutil.wait_procs([psutil.Process(pid)], timeout=LIMIT_S)
        assert helped.use() == {"site": ServiceUse()}
        assert services.usage("site", SMALL) == Usage(None, None)
        again = services.need("site", SMALL)
        assert fetch(f"{again[0]}/news")[0] == 200


def served_by(pid: int, url: str) -> bool:
    ports = {each.laddr.port for each in psutil.Process(pid).net_connections("tcp4")}
    return int(url.rpartition(":")[2]) in ports


def test_leaving_the_block_ends_them_all() -> None:
    before = children()
    with Services(sys.executable, environment(), workers=9) as services:
        assert len(services.need("site", SMALL)) == 2  # for 8 workers each
        assert len(children() - before) == 3
    assert children() <= before
    services.close()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit('no aiohttp here')", "no aiohttp here"),
        ("print('hello')", "exit code 0"),
        ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL"),
    ],
)
def test_one_that_does_not_start_says_why(code: str, why: str) -> None:
    before = children()
    with pytest.raises(ServiceError, match=why):
        ServiceProcess([sys.executable, "-c", code], environment())
    assert children() <= before


def test_one_that_stays_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    monkeypatch.setattr("scaling.run.service_process.READY_S", 0.1)
    with pytest.raises(ServiceError, match=r"not ready after 0\.1 s"):
        ServiceProcess([sys.executable, "-c", "import sys; sys.stdin.read()"], environment())
    assert children() <= before


def test_bad_parameters_are_told_in_a_line(services: Services) -> None:
    with pytest.raises(ScalingError, match="--pages: expected at least 1") as told:
        services.need("site", {"pages": 0})
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="'database'; there are: site, responder"):
        services.need("database", {})
    with pytest.raises(ServiceError, match="cannot start"):
        Services("/nowhere/python", environment()).need("site", SMALL)


def test_a_killed_driver_takes_its_helpers_along() -> None:
    driver_code = f"""
import sys, time
from scaling.run.services import Services
services = Services(sys.executable, {environment()!r})
print(services.need("site", {SMALL!r}), flush=True)
time.sleep({LIMIT_S})
"""
    with subprocess.Popen(
        [sys.executable, "-c", driver_code], stdout=subprocess.PIPE, env=environment()
    ) as driver:
        assert driver.stdout
        driver.stdout.readline()
        helpers = psutil.Process(driver.pid).children(recursive=True)
        assert helpers
        driver.kill()
        assert gone(helpers)
