"""A story that was parsed wrongly or not received is an error, never an operation."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from tests.support.children import PATIENCE_S
from workers import Worker
from workers.services.serving.listening import listen, url_of
from workers.services.site.pages import Page, Shelf
from workers.services.site.server import serving
from workers.services.site.stories import News
from workers.workloads.scrape import Scrape

pytestmark = pytest.mark.one_build

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


async def scraped(url: str, enough: int, seed: int = 1) -> Worker:
    """Scrape until `enough` stories have been counted, one way or the other."""
    worker = Worker(0, 1, {"site": [url]})
    workload = Scrape(pages=2, seed=seed, stories_in_flight=4)
    workload.load()
    await workload.setup(worker)
    async with asyncio.timeout(PATIENCE_S):
        traffic = asyncio.create_task(workload.run(worker))
        while worker.operations + worker.errors < enough:  # noqa: ASYNC110 - counters have no event
            await asyncio.sleep(0.001)
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


def test_a_list_of_other_stories_is_an_error() -> None:
    tamper = replaced("/news", b'submission" id="4', b'submission" id="5')
    worker = scrape(Tampering(News(1, 2), tamper), enough=2)
    assert worker.operations == 0
    assert worker.error_samples[0].startswith("list page 1: WrongPageError: lists 30 stories")


def test_a_list_without_one_story_is_an_error() -> None:
    worker = scrape(Tampering(News(1, 2), replaced("/news", b"submission", b"job")), enough=2)
    assert worker.operations == 0
    assert worker.error_samples[0].startswith("list page 1: ValueError")


def test_a_comment_without_text_is_an_error_wherever_it_is() -> None:
    def tamper(address: str, body: bytes) -> bytes:
        del address
        before, last, after = body.rpartition(b'class="commtext c00">')
        return before + b'class="">' + after if last else body

    worker = scrape(Tampering(News(1, 2), tamper))
    assert worker.operations == 0
    assert worker.error_samples[0].endswith("WrongPageError: a comment without author or text")


def test_another_seed_is_another_site() -> None:
    worker = scrape(Shelf(News(2, 2)), seed=1)
    assert worker.operations == 0
    assert worker.errors >= 40


@contextlib.asynccontextmanager
async def broken(answer: Callable[[web.BaseRequest], web.StreamResponse]) -> AsyncIterator[str]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return answer(request)

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    listening = listen("127.0.0.1", 0)
    await web.SockSite(runner, listening).start()
    yield url_of(listening)
    await runner.cleanup()


def test_a_page_that_is_refused_is_an_error() -> None:
    async def both() -> Worker:
        async with broken(lambda _: web.Response(status=503)) as url:
            return await scraped(url, enough=2)

    worker = asyncio.run(both())
    assert worker.operations == 0
    assert worker.error_samples[0] == "list page 1: WrongPageError: status 503"


def test_a_site_that_is_gone_is_an_error() -> None:
    with listen("127.0.0.1", 0) as closed:
        port = closed.getsockname()[1]
    worker = asyncio.run(scraped(f"http://127.0.0.1:{port}", enough=2))
    assert worker.operations == 0
    assert "ClientConnectorError" in worker.error_samples[0]


def test_without_a_site_it_says_how_to_start_one() -> None:
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

        async with broken(answer) as one, broken(answer) as two:
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
