"""Parsers agree; a story that was parsed wrongly or not received is an error; nothing is left."""

import asyncio
import gc
import importlib
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from tests.support.children import PATIENCE_S
from tests.support.in_process import answering
from workers import Worker
from workers.loops import load_loop
from workers.services.serving import listen
from workers.services.site.pages import Page, Shelf, item_page, list_page, serving
from workers.services.site.stories import RARE, News
from workers.workloads.parts.parsers import Commented, Listed, leading_number, load_parser
from workers.workloads.scrape import Scrape

pytestmark = pytest.mark.one_build

NEWS = News(seed=3, pages=100)
PACKAGES = {"lexbor": "selectolax", "turbohtml": "turbohtml", "stdlib": "html.parser"}
ONE_COMMENT, NO_COMMENT = RARE // 2 - 1, RARE - 1
PARSERS = pytest.mark.parametrize(
    "name", [each for each, package in PACKAGES.items() if importlib.util.find_spec(package)]
)


@PARSERS
def test_pages_give_the_facts(name: str) -> None:
    parser = load_parser(name)
    for page in (1, ONE_COMMENT // 30 + 1, NO_COMMENT // 30 + 1):
        facts = [
            Listed(each.id, each.title, each.link, each.points, each.author, each.comments)
            for each in NEWS.listed(page)
        ]
        assert parser.listed(list_page(NEWS, page)) == facts
    for story in map(NEWS.story, (3, 2_999, ONE_COMMENT, NO_COMMENT)):
        found = parser.commented(item_page(NEWS, story))
        assert found == [
            Commented(each.id, each.author, each.indent, each.text) for each in NEWS.thread(story)
        ]
        assert len(found) == story.comments


@PARSERS
def test_rows_that_lack_something_do_not_stop_a_scraper(name: str) -> None:
    """Hacker News has jobs without points and comments whose text was deleted."""
    jobs = (
        b"<table><tr class='athing submission' id='7'><td class='title'><span class='titleline'>"
        b"<a href='job'>A job</a></span></td></tr>"
        b"<tr><td class='subtext'><span class='age'><a href='item?id=7'>1 hour ago</a></span> | "
        b"<a href='hide?id=7'>hide</a></td></tr></table>"
    )
    deleted = (
        b"<table class='comment-tree'><tr class='athing comtr' id='8'><td><table><tr>"
        b"<td class='ind' indent='2'></td><td class='default'><div class='comment'>[deleted]"
        b"</div></td></tr></table></td></tr></table>"
    )
    parser = load_parser(name)
    assert parser.listed(jobs) == [Listed(7, "A job", "job", 0, "", 0)]
    assert parser.commented(deleted) == [Commented(8, "", 2, "")]
    assert (parser.listed(b""), parser.commented(b"")) == ([], [])
    assert (leading_number("1\N{NO-BREAK SPACE}comment"), leading_number("discuss")) == (1, 0)


Tamper = Callable[[str, bytes], bytes]


class Tampering(Shelf):
    """A shelf that hands out pages with something changed in them."""

    def __init__(self, news: News, tamper: Tamper) -> None:
        super().__init__(news)
        self._tamper = tamper

    def find(self, address: str) -> Page | None:
        page = super().find(address)
        return (self._tamper(address, page[0]), page[1]) if page else None


def replaced(where: str, old: bytes, new: bytes) -> Tamper:
    def tamper(address: str, body: bytes) -> bytes:
        changed = body.replace(old, new, 1) if address.startswith(where) else body
        assert changed != body or not address.startswith(where)
        return changed

    return tamper


async def scraped(url: str, enough: int, *, is_cancelled: bool = False) -> Worker:
    """Scrape until `enough` stories have been counted, one way or the other."""
    worker = Worker(0, 1, {"site": [url]})
    workload = Scrape(pages=2, seed=1, stories_in_flight=4)
    workload.load()
    await workload.setup(worker)
    async with asyncio.timeout(PATIENCE_S):
        traffic = asyncio.create_task(workload.run(worker))
        while worker.operations + worker.errors < enough:  # noqa: ASYNC110 - counters have no event
            await asyncio.sleep(0.001)
        if is_cancelled:
            traffic.cancel()
            await asyncio.wait({traffic})
        else:
            worker.stop()
            await traffic
        await workload.teardown(worker)
    assert {each for each in asyncio.all_tasks() if not serves(each)} == {asyncio.current_task()}
    return worker


def serves(task: asyncio.Task[object]) -> bool:
    """Whether it is a connection of the site's, which ends when the kernel closes it."""
    return getattr(task.get_coro(), "cr_code", None) is web.RequestHandler.start.__code__


def scrape(shelf: Shelf, enough: int = 10, loop: str = "asyncio", **asked: Any) -> Worker:
    async def both() -> Worker:
        async with serving(shelf, listen("127.0.0.1", 0), 0.0) as url:
            return await scraped(url, enough, **asked)

    return asyncio.run(both(), loop_factory=load_loop(loop))


@pytest.mark.parametrize(("loop", "is_cancelled"), [("uvloop", False), ("asyncio", True)])
def test_every_story_of_a_faultless_site_counts(loop: str, is_cancelled: bool) -> None:
    """Nothing is left, also of traffic that the host had to cancel: it would be an error here."""
    shelf = Shelf(News(1, 2))
    # More than the site has: it goes round.
    worker = scrape(shelf, enough=70, loop=loop, is_cancelled=is_cancelled)
    gc.collect()
    assert (worker.errors, worker.error_samples) == (0, [])
    assert worker.operations >= 70
    assert worker.bytes / worker.operations > 60_000


@pytest.mark.parametrize(
    ("where", "old", "new", "message"),
    [
        ("/item", b'class="athing comtr"', b'class="athing"', "comments instead of"),
        ("/item", b'class="commtext c00">', b'class="commtext c00">!', "the first comment is"),
        ("/item", b'indent="0"', b'indent="no"', "ValueError"),
        ("/news", b'submission" id="4', b'submission" id="5', "WrongPageError: lists 30 stories"),
        ("/news", b"submission", b"job", "list page 1: ValueError"),
    ],
)
def test_a_page_that_was_tampered_with_is_an_error(
    where: str, old: bytes, new: bytes, message: str
) -> None:
    enough = 10 if where == "/item" else 2
    worker = scrape(Tampering(News(1, 2), replaced(where, old, new)), enough)
    assert worker.operations == 0
    assert message in worker.error_samples[0]
    assert worker.error_samples[0].startswith("story 4" if where == "/item" else "list page 1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b" points</span>", b"0 points</span>"),
        (b".html", b".htm"),
    ],
)
def test_a_story_that_is_listed_wrongly_is_an_error(old: bytes, new: bytes) -> None:
    """One wrong story in each list of 30, its first."""
    # Some more are counted before it stops: far from a list's end, none of them is wrong.
    worker = scrape(Tampering(News(1, 2), replaced("/news", old, new)), enough=45)
    assert worker.errors >= 1
    assert worker.operations >= 20 * worker.errors
    assert "listed as" in worker.error_samples[0]


def test_a_page_that_is_refused_and_a_site_that_is_gone_or_not_there_are_errors() -> None:
    async def both() -> Worker:
        async with answering(lambda _: web.Response(status=503)) as url:
            return await scraped(url, enough=2)

    worker = asyncio.run(both())
    assert worker.operations == 0
    assert worker.error_samples[0] == "list page 1: WrongPageError: status 503"
    with listen("127.0.0.1", 0) as closed:
        port = closed.getsockname()[1]
    worker = asyncio.run(scraped(f"http://127.0.0.1:{port}", enough=2))
    assert worker.operations == 0
    assert "ClientConnectorError" in worker.error_samples[0]
    worker = scrape(Shelf(News(2, 2)))  # another seed is another site
    assert (worker.operations, worker.errors >= 10) == (0, True)
    workload = Scrape()
    workload.load()
    assert workload.facts()["http_client"].startswith("aiohttp 3.")
    with pytest.raises(ValueError, match=r"python -m workers\.services\.site"):
        asyncio.run(workload.setup(Worker(0, 1, {})))


def test_workers_begin_apart_and_use_a_port_each(monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the stop takes to arrive, none asks for its second page.
    monkeypatch.setattr("workers.workloads.scrape.PAUSE_S", PATIENCE_S)

    async def first_pages() -> list[str]:
        asked: list[str] = []

        def answer(request: web.BaseRequest) -> web.StreamResponse:
            asked.append(request.raw_path)
            return web.Response(status=404)

        async with answering(answer) as one, answering(answer) as two:
            for index in range(3):
                worker = Worker(index, 3, {"site": [one, two]})
                workload = Scrape(pages=99)
                workload.load()
                await workload.setup(worker)
                assert workload._url == (one, two, one)[index]
                traffic = asyncio.create_task(workload.run(worker))
                while len(asked) <= index:  # noqa: ASYNC110 - a list has no event
                    await asyncio.sleep(0.001)
                worker.stop()
                await traffic
                await workload.teardown(worker)
        return asked

    assert asyncio.run(first_pages()) == ["/news?p=1", "/news?p=34", "/news?p=67"]
