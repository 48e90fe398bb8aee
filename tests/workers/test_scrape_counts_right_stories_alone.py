"""Parsers agree; a story that was parsed wrongly or not received is an error; nothing is left."""

import asyncio
import gc
import importlib
from collections.abc import Callable

import pytest
from aiohttp import web

from tests.support.children import PATIENCE_S
from tests.support.in_process import answering
from workers import Worker
from workers.loops import load_loop
from workers.services.serving import listen
from workers.services.site.pages import Page, Shelf, item_page, list_page, serving
from workers.services.site.stories import RARE, News, Story
from workers.workloads.parts.parsers import Commented, Listed, leading_number, load_parser
from workers.workloads.scrape import Scrape

pytestmark = pytest.mark.one_build

NEWS = News(seed=3, pages=100)


ONE_COMMENT, NO_COMMENT = RARE // 2 - 1, RARE - 1


INSTALLED = [
    name
    for name, package in {
        "lexbor": "selectolax",
        "turbohtml": "turbohtml",
        "stdlib": "html.parser",
    }.items()
    if importlib.util.find_spec(package)
]


def listed(story: Story) -> Listed:
    return Listed(story.id, story.title, story.link, story.points, story.author, story.comments)


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("page", [1, ONE_COMMENT // 30 + 1, NO_COMMENT // 30 + 1])
def test_list_pages_give_the_facts(name: str, page: int) -> None:
    assert {"lexbor", "stdlib"} <= set(INSTALLED)
    found = load_parser(name).listed(list_page(NEWS, page))
    assert found == [listed(story) for story in NEWS.listed(page)]


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("place", [0, 3, 2_999, ONE_COMMENT, NO_COMMENT])
def test_threads_give_the_facts(name: str, place: int) -> None:
    story = NEWS.story(place)
    found = load_parser(name).commented(item_page(NEWS, story))
    assert found == [
        Commented(comment.id, comment.author, comment.indent, comment.text)
        for comment in NEWS.thread(story)
    ]
    assert len(found) == story.comments


@pytest.mark.parametrize("name", INSTALLED)
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
    assert not parser.listed(b"")
    assert not parser.commented(b"")


@pytest.mark.parametrize(
    ("text", "number"),
    [("12 points", 12), ("1\N{NO-BREAK SPACE}comment", 1), ("discuss", 0), ("", 0), ("hide", 0)],
)
def test_counts_are_read_as_they_are_worded(text: str, number: int) -> None:
    assert leading_number(text) == number


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


async def scraped(url: str, enough: int, seed: int = 1, *, is_cancelled: bool = False) -> Worker:
    """Scrape until `enough` stories have been counted, one way or the other."""
    worker = Worker(0, 1, {"site": [url]})
    workload = Scrape(pages=2, seed=seed, stories_in_flight=4)
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


def scrape(shelf: Shelf, enough: int = 40, seed: int = 1) -> Worker:
    async def both() -> Worker:
        async with serving(shelf, listen("127.0.0.1", 0), 0.0) as url:
            return await scraped(url, enough, seed)

    return asyncio.run(both())


def test_every_story_of_a_faultless_site_counts() -> None:
    worker = scrape(Shelf(News(1, 2)), enough=70)  # more than the site has: it goes round
    assert (worker.errors, worker.error_samples) == (0, [])
    assert worker.operations >= 70
    assert worker.bytes / worker.operations > 60_000


@pytest.mark.parametrize(
    ("where", "old", "new", "message"),
    [
        ("/item", b'class="athing comtr"', b'class="athing"', "comments instead of"),
        ("/item", b'class="commtext c00">', b'class="commtext c00">!', "the first comment is"),
        (
            "/item",
            b'comhead"><a href="user',
            b'comhead"><a class="" href="user',
            "the first comment",
        ),
        ("/item", b'indent="0"', b'indent="1"', "the first comment is"),
        ("/item", b'indent="0"', b'indent="no"', "ValueError"),
    ],
)
def test_a_thread_that_was_tampered_with_is_an_error(
    where: str, old: bytes, new: bytes, message: str
) -> None:
    worker = scrape(Tampering(News(1, 2), replaced(where, old, new)))
    assert worker.operations == 0
    assert worker.errors >= 40
    assert message in worker.error_samples[0]
    assert worker.error_samples[0].startswith("story 4")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b" points</span>", b"0 points</span>"),
        (b"&nbsp;comments", b"0&nbsp;comments"),
        (b'class="hnuser">', b'class="hnuser">x'),
        (b'<span class="titleline"><a href="', b'<span class="titleline"><a href="x'),
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


def without_text(address: str, body: bytes) -> bytes:
    """The page with the text of its last comment gone."""
    before, last, after = body.rpartition(b'class="commtext c00">')
    return before + b'class="">' + after if last else body


@pytest.mark.parametrize(
    ("tamper", "enough", "begins", "ends"),
    [
        (
            replaced("/news", b'submission" id="4', b'submission" id="5'),
            2,
            "list page 1: WrongPageError: lists 30 stories",
            "",
        ),
        (replaced("/news", b"submission", b"job"), 2, "list page 1: ValueError", ""),
        (without_text, 40, "", "WrongPageError: a comment without author or text"),
    ],
)
def test_a_list_of_other_stories_and_a_comment_without_text_are_errors(
    tamper: Tamper, enough: int, begins: str, ends: str
) -> None:
    worker = scrape(Tampering(News(1, 2), tamper), enough=enough)
    assert worker.operations == 0
    assert worker.error_samples[0].startswith(begins)
    assert worker.error_samples[0].endswith(ends)


def test_another_seed_is_another_site() -> None:
    worker = scrape(Shelf(News(2, 2)), seed=1)
    assert worker.operations == 0
    assert worker.errors >= 40


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
    workload = Scrape()
    workload.load()
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


@pytest.mark.parametrize(("loop", "is_cancelled"), [("uvloop", False), ("asyncio", True)])
def test_nothing_is_left(loop: str, is_cancelled: bool) -> None:
    """Also of traffic that the host had to cancel. What is left open is an error in all tests."""

    async def both() -> Worker:
        async with serving(Shelf(News(1, 2)), listen("127.0.0.1", 0), 0.0) as url:
            return await scraped(url, 20, is_cancelled=is_cancelled)

    worker = asyncio.run(both(), loop_factory=load_loop(loop))
    gc.collect()
    assert (worker.errors, worker.error_samples) == (0, [])


def test_facts_name_the_libraries() -> None:
    workload = Scrape(parser="lexbor")
    workload.load()
    facts = workload.facts()
    assert facts["http_client"].startswith("aiohttp 3.")
    assert facts["http_parser"] == "c"
    assert facts["html_parser"].startswith("selectolax ")
