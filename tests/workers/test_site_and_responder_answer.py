"""The site serves its pages, the responder one answer to every GET: neither before its delay."""

import asyncio
import contextlib
import hashlib
import http.client
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from tests.support.children import PATIENCE_S, captured
from tests.support.servers import (
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
from workers.services.site.pages import Shelf, item_page, list_page
from workers.services.site.stories import FIRST_ID, News

pytestmark = pytest.mark.one_build

NEWS, MANY = News(seed=1, pages=2), News(seed=1, pages=100)
HTML = "text/html; charset=utf-8"


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
    """On one connection; a missing page is a page."""
    first, second = list_page(NEWS, 1), list_page(NEWS, 2)
    story = NEWS.story(59)
    thread = item_page(NEWS, story)
    found = {
        **dict.fromkeys(("/", "/news", "/news?p=1"), first),
        **dict.fromkeys(("/?p=2", "/news?p=2"), second),
        **dict.fromkeys((f"/item?id={story.id}", f"/item?id={story.id}&p=2"), thread),
    }
    site = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    with contextlib.closing(site):
        site.connect()
        kept = site.sock
        for address, expected in found.items():
            site.request("GET", address)
            answer = site.getresponse()
            assert (answer.status, answer.read() == expected) == (200, True), address
            assert Shelf(NEWS).find(address) == (expected, HTML)  # not kept yet
        assert site.sock is kept
    assert fetch(f"{url}/news", "HEAD")[2] == b""
    assert fetch(f"{url}/s.gif")[2].startswith(b"GIF89a")
    status, headers, body = fetch(f"{url}/user?id=ada")
    assert (status, headers["Content-Type"]) == (404, HTML)
    assert b"No such page" in body
    assert fetch(f"{url}/news", "POST")[0] == 405


@pytest.mark.parametrize(
    ("news", "page", "story", "expected"),
    [
        (MANY, 1, None, "5ab0246d4ddc7b7d"),
        (MANY, 100, None, "99091e82ddc2111b"),
        (MANY, None, 0, "dd7ba18473842d1f"),
        (MANY, None, 2_999, "fe3eaa18c13ca4f9"),
        (News(seed=2), 1, None, "a7bcd8af93654b9f"),
    ],
)
def test_a_page_is_the_same_everywhere(
    news: News, page: int | None, story: int | None, expected: str
) -> None:
    """It depends on the seed alone, however many there are."""
    found = list_page(news, page) if page else item_page(news, news.story(story or 0))
    assert hashlib.sha256(found).hexdigest()[:16] == expected


@pytest.mark.parametrize(
    "address",
    [
        *("/news?p=0", "/news?p=3", "/news?p=-1", "/news?p=x", "/news?p=1.0", "/news?p=²"),
        *("/item", "/item?id=", f"/item?id={FIRST_ID + 1}", "/item?id=" + "9" * 999),
        *("/favicon.ico", "/../etc/passwd", "//news", "/news/"),
    ],
)
def test_nothing_else_is_found(address: str) -> None:
    assert Shelf(NEWS).find(address) is None


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
def test_a_ceiling_is_what_a_client_gets_that_only_counts(url: str) -> None:
    """And not of a delay: `test_services_are_there_for_a_run.py` measures that of the site."""

    def ceiling(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-W", "error", "-m", f"workers.services.{program}.ceiling"]
        return captured([*command, *arguments])

    with running_responder("--body-bytes=1000", "--processes=2") as responder:
        status, headers, body = fetch(f"{responder}/anything?id=7")
        assert (status, headers["Content-Length"], len(body)) == (200, "1000", 1000)
        assert fetch(responder, "POST")[0] == 405
        done = ceiling("responder", responder)
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    answered = figures["mbytes_per_s"] * 1e6 / figures["requests_per_s"]
    assert answered == pytest.approx(1_000, rel=0.5)
    beyond = ceiling("site", url, "--pages=9")
    assert (beyond.returncode, beyond.stdout) == (1, "")
    assert "404" in beyond.stderr
    assert "Traceback" not in beyond.stderr


@pytest.mark.slow
def test_no_answer_comes_early_and_none_waits_for_another() -> None:
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

    asyncio.run(all_at_once(), loop_factory=new_event_loop)


def test_requests_in_pieces_and_several_in_one() -> None:
    """A head without an end is not collected for ever."""

    async def in_pieces() -> None:
        async with connected(0.002) as [(reader, writer)]:
            writer.write((ASK % 1)[:-3])
            await asyncio.sleep(0.01)
            writer.write((ASK % 1)[-3:] + ASK % 2 + b"POST" + (ASK % 3)[3:])
            whole = await reader.readexactly(2 * len(ANSWER))
            assert whole == 2 * ANSWER
            assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")
        async with connected(0.0) as [(reader, writer)]:
            writer.write(b"GET /" + b"x" * 2 * HEAD_MOST_BYTES)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""

    asyncio.run(in_pieces(), loop_factory=new_event_loop)
