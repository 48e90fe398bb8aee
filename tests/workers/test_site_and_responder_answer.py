"""The site serves its pages, the responder one answer to every GET: neither before its delay."""

import asyncio
import contextlib
import http.client
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from tests.support.children import PATIENCE_S, captured
from tests.support.servers import (
    STRICT,
    family,
    fetch,
    gone,
    last_words,
    ready,
    running_responder,
    running_site,
    start,
)
from workers.services.responder.__main__ import HEAD_MOST_BYTES, answer_with, serving
from workers.services.serving import listen, new_event_loop
from workers.services.site.pages import Shelf, at_least, item_page, list_page
from workers.services.site.stories import FIRST_ID, News

pytestmark = pytest.mark.one_build

NEWS = News(seed=1, pages=2)
LOOPS = pytest.mark.parametrize("factory", [asyncio.new_event_loop, new_event_loop])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_site() as running:
        yield running


@pytest.mark.slow
def test_it_says_ready_when_it_answers_and_not_before_and_ends_with_its_input() -> None:
    """The very first connection after the line must be served: no retry here."""
    with start("--until-eof", "--seed=5", "--processes=2", "--delay-ms=20") as site:
        announced = ready(site)
        assert announced["pid"] == site.pid
        assert len(set(announced["urls"])) == 2  # a port for each process, and the same pages
        members = family(site.pid)
        assert len(members) == 3
        for url in announced["urls"] * 3:
            begun = time.monotonic()
            assert fetch(f"{url}/news")[2] == list_page(News(5, 2), 1)
            assert time.monotonic() - begun >= 0.020
        assert last_words(site) == ""
    assert site.returncode == 0
    assert gone(members)


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


@LOOPS
def test_a_timer_that_fires_early_does_not_shorten_the_delay(
    factory: "type[asyncio.AbstractEventLoop]",
) -> None:
    async def shortest_s() -> float:
        async def once() -> float:
            begun = time.monotonic()
            await at_least(0.0014)  # uvloop's clock counts whole milliseconds
            return time.monotonic() - begun

        return min(await asyncio.gather(*(once() for _ in range(200))))

    assert asyncio.run(shortest_s(), loop_factory=factory) >= 0.0014


@pytest.mark.slow
def test_the_earlier_name_of_the_site_still_serves_it_and_the_summary_says_where() -> None:
    def earlier(*options: str) -> list[str]:
        return [sys.executable, *STRICT, "-m", "workers.site", "--pages=1", *options]

    with start(command=earlier) as site:
        url = ready(site)["urls"][0]
        assert b"Scaling News" in fetch(f"{url}/news")[2]
        assert site.stderr
        lines = (line for line in site.stderr if " took " not in line)  # a busy machine
        assert f"{url}/news" in next(lines)
        site.terminate()
        assert last_words(site) == ""
    assert site.returncode == 0


ASK = b"GET /?id=%d HTTP/1.1\r\nHost: here\r\n\r\n"


ANSWER = answer_with(bytes(100))


type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connected(delay_s: float, connections: int = 1) -> AsyncIterator[list[Streams]]:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(bytes(100), listen("127.0.0.1", 0), delay_s) as url,
    ):
        at = urlsplit(url)
        streams = [await asyncio.open_connection(at.hostname, at.port) for _ in range(connections)]
        yield streams
        for _, writer in streams:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@pytest.mark.slow
def test_an_answer_is_whole_and_says_how_long_it_is() -> None:
    with running_responder("--body-bytes=1000", "--processes=2") as url:
        status, headers, body = fetch(f"{url}/anything?id=7")
        assert (status, headers["Content-Length"], len(body)) == (200, "1000", 1000)
        assert fetch(url, "POST")[0] == 405


@pytest.mark.slow
def test_a_ceiling_is_what_a_client_gets_that_only_counts() -> None:
    """And not of a delay: `test_services_are_there_for_a_run.py` measures that of the site."""
    with running_responder("--body-bytes=1000") as url:
        done = ceiling("responder", url)
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    answered = figures["mbytes_per_s"] * 1e6 / figures["requests_per_s"]
    assert answered == pytest.approx(1_000, rel=0.5)


@pytest.mark.slow
def test_a_ceiling_of_pages_that_are_not_there_is_an_error(url: str) -> None:
    beyond = ceiling("site", url, "--pages=9")
    assert (beyond.returncode, beyond.stdout) == (1, "")
    assert "404" in beyond.stderr
    assert "Traceback" not in beyond.stderr


def ceiling(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-m", f"workers.services.{program}.ceiling"]
    return captured([*command, *arguments])


@pytest.mark.slow
@LOOPS
def test_no_answer_comes_early_and_none_waits_for_another(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    delay_s, connections = 0.05, 200

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
        began = time.monotonic()
        writer.write(ASK % 1)
        assert await reader.readexactly(len(ANSWER)) == ANSWER
        answered = time.monotonic()
        assert answered - began >= delay_s
        return answered

    async def all_at_once() -> None:
        async with connected(delay_s, connections) as streams:
            answered = sorted(await asyncio.gather(*(once(*each) for each in streams)))
            # One by one, each would come a whole delay after the one before it.
            apart_s = [late - early for early, late in pairwise(answered)]
            assert sum(each >= delay_s for each in apart_s) < connections / 4

    asyncio.run(all_at_once(), loop_factory=factory)


@LOOPS
def test_requests_in_pieces_and_several_in_one(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def in_pieces() -> None:
        async with connected(0.002) as [(reader, writer)]:
            writer.write((ASK % 1)[:-3])
            await asyncio.sleep(0.01)
            writer.write((ASK % 1)[-3:] + ASK % 2 + b"POST" + (ASK % 3)[3:])
            whole = await reader.readexactly(2 * len(ANSWER))
            assert whole == 2 * ANSWER
            assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")

    asyncio.run(in_pieces(), loop_factory=factory)


def test_a_head_without_end_is_not_collected_for_ever() -> None:
    async def endless() -> None:
        async with connected(0.0) as [(reader, writer)]:
            writer.write(b"GET /" + b"x" * 2 * HEAD_MOST_BYTES)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""

    asyncio.run(endless())
