"""The site serves its pages, answers 404 to the rest, and never answers before its delay."""

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import (
    STRICT,
    environment,
    fetch,
    last_words,
    ready,
    running_site,
    start,
)
from workers.services.serving.listening import listen, url_of
from workers.services.serving.program import new_event_loop
from workers.services.site.pages import Shelf, item_page, list_page
from workers.services.site.server import at_least
from workers.services.site.stories import FIRST_ID, News

pytestmark = pytest.mark.one_build

NEWS = News(seed=1, pages=2)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_site() as running:
        yield running


@pytest.mark.slow
def test_it_says_ready_when_it_answers_and_not_before() -> None:
    """The very first connection after the line must be served: no retry here."""
    with start("--until-eof", "--seed=5") as site:
        announced = ready(site)
        assert announced["pid"] == site.pid
        assert fetch(f"{announced['urls'][0]}/news")[2] == list_page(News(5, 2), 1)
        assert last_words(site) == ""


def test_pages_are_found_however_they_are_asked_for(url: str) -> None:
    first, second = list_page(NEWS, 1), list_page(NEWS, 2)
    story = NEWS.story(59)
    for address, expected in {
        "/": first,
        "/news": first,
        "/news?p=1": first,
        "/?p=2": second,
        "/news?p=2": second,
        f"/item?id={story.id}": item_page(NEWS, story),
        f"/item?id={story.id}&p=2": item_page(NEWS, story),
    }.items():
        status, _, body = fetch(url + address)
        assert (status, body == expected) == (200, True), address
        assert Shelf(NEWS).find(address) == (body, "text/html; charset=utf-8")  # not kept yet
    assert fetch(f"{url}/news", "HEAD")[2] == b""
    assert fetch(f"{url}/s.gif")[2].startswith(b"GIF89a")


@pytest.mark.parametrize(
    "address",
    [
        *("/news?p=0", "/news?p=3", "/news?p=-1", "/news?p=x", "/news?p=1.0", "/news?p=²"),
        *("/item", "/item?id=", "/item?id=1", f"/item?id={FIRST_ID + 1}", "/item?id=" + "9" * 999),
        *("/user?id=ada", "/favicon.ico", "/../etc/passwd", "//news", "/news/"),
    ],
)
def test_nothing_else_is_found(address: str) -> None:
    assert Shelf(NEWS).find(address) is None


def test_a_missing_page_is_a_page(url: str) -> None:
    status, headers, body = fetch(f"{url}/user?id=ada")
    assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"No such page" in body
    assert body.endswith(b"</html>\n")
    assert fetch(f"{url}/news", "POST")[0] == 405


def test_a_connection_serves_many_requests(url: str) -> None:
    site = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    with contextlib.closing(site):
        site.connect()
        kept = site.sock
        for _ in range(3):
            site.request("GET", "/news")
            assert site.getresponse().read() == list_page(NEWS, 1)
        assert site.sock is kept


@pytest.mark.slow
def test_no_answer_comes_before_the_delay_is_over() -> None:
    with running_site("--delay-ms=20") as url:
        for _ in range(10):
            begun = time.monotonic()
            fetch(f"{url}/news")
            assert time.monotonic() - begun >= 0.020


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, new_event_loop])
def test_a_timer_that_fires_early_does_not_shorten_the_delay(
    factory: "type[asyncio.AbstractEventLoop]",
) -> None:
    async def shortest_s() -> float:
        async def once() -> float:
            begun = time.monotonic()
            await at_least(0.0014)  # uvloop's clock counts whole milliseconds
            return time.monotonic() - begun

        return min(await asyncio.gather(*(once() for _ in range(200))))

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(shortest_s()) >= 0.0014


def test_its_sockets_are_made_for_tcp_by_name() -> None:
    """Made with protocol 0, asyncio would leave Nagle's algorithm on."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        assert url_of(listening).startswith("http://127.0.0.1:")


@pytest.mark.slow
def test_several_processes_have_a_port_each_and_the_same_pages() -> None:
    with start("--until-eof", "--processes=2") as site:
        urls = ready(site)["urls"]
        assert len(set(urls)) == 2
        assert {fetch(f"{url}/news")[2] for url in urls} == {list_page(NEWS, 1)}
        assert last_words(site) == ""
    assert site.returncode == 0


@pytest.mark.slow
def test_the_summary_says_where_to_look() -> None:
    with start() as site:
        url = ready(site)["urls"][0]
        assert site.stderr
        lines = (line for line in site.stderr if " took " not in line)  # a busy machine
        assert f"{url}/news" in next(lines)
        site.terminate()
        assert last_words(site) == ""
    assert site.returncode == 0


def ceiling(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        # A machine may stall the site for most of a second, and nothing counts meanwhile.
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "workers.services.site.ceiling",
            "--seconds=2",
            *arguments,
        ],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE_S,
    )


@pytest.mark.slow
def test_the_ceiling_is_what_a_client_gets_that_only_counts(url: str) -> None:
    done = ceiling("--pages=2", url)
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    page_bytes = figures["mbytes_per_s"] * 1e6 / figures["requests_per_s"]
    assert 50_000 < page_bytes < 100_000
    assert 0 < figures["client_busy_fraction"] < 1.5


@pytest.mark.slow
def test_a_ceiling_without_pages_is_an_error(url: str) -> None:
    beyond = ceiling("--pages=9", url)
    assert (beyond.returncode, beyond.stdout) == (1, "")
    assert "404" in beyond.stderr
    assert "Traceback" not in beyond.stderr


@pytest.mark.slow
def test_the_earlier_name_of_the_site_still_serves_it() -> None:
    def earlier(*options: str) -> list[str]:
        return [sys.executable, *STRICT, "-m", "workers.site", "--pages=1", *options]

    with start("--until-eof", command=earlier) as site:
        (url,) = ready(site)["urls"]
        with urllib.request.urlopen(f"{url}/news", timeout=PATIENCE_S) as answer:
            assert b"Scaling News" in answer.read()
