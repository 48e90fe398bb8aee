"""Web scraping with aiohttp and an HTML parser, against a news site in a separate process."""

import asyncio
import itertools
from dataclasses import dataclass
from typing import Literal

import aiohttp

from workers import Worker, Workload, parameter
from workers.services.site.stories import STORIES_PER_PAGE, News, Story
from workers.workloads.parts.clients import client_facts, service_url
from workers.workloads.parts.parsers import Commented, Listed, Parser, load_parser

TIMEOUT_S = 10.0  # for one whole page
PAUSE_S = 0.1  # after a list page that failed, so that a site that is down is not flooded
FAILURES = (aiohttp.ClientError, TimeoutError, ValueError)


class WrongPageError(ValueError):
    """A page that does not match the data that the site was made from."""


@dataclass
class Scrape(Workload):
    """Web scraping: the stories of a news site and their comments, fetched and parsed.

    One operation: one story, its page of about 60 comments fetched and parsed; every 30 stories
    also one list page. The result is compared with the data that the site was made from, so a wrong
    parse is an error, never throughput. Each worker starts at a different list page and goes round
    the site until it is stopped. Most of the cost is the parser; the site's cost is not included.
    """

    operation = "stories"
    in_flight = "stories_in_flight"
    descriptors = 1
    services = ("site",)
    # The site answers what is in flight at a stop, and after it a loop parses all of that before it
    # takes a tick. On a busy machine ticks were later than a slice is long; the ratio of threads to
    # processes was 1.24 in turn and 0.94 one after the other, and scattered by 0.7 to 1.2 times as
    # much at equal time (`python -m tests.benchmarks alternation --cell scrape`).
    alone = "its service answers while it is stopped, which makes its loops late for slices"
    # 8 stories of 2 ms of each worker, and twice as long where workers share a GIL.
    settle_s = 0.05

    stories_in_flight: int = parameter(8, "stories in flight per worker", at_least=1)
    parser: Literal["lexbor", "turbohtml", "stdlib"] = parameter("lexbor", "HTML parser")
    pages: int = parameter(100, "list pages of the site, 30 stories each", at_least=1)
    delay_ms: int = parameter(0, "delay before the site answers, ms", at_least=0)
    seed: int = parameter(1, "seed that the site's pages are generated from")

    def load(self) -> None:
        self._parser: Parser = load_parser(self.parser)

    def facts(self) -> dict[str, str]:
        return {**client_facts(), "html_parser": self._parser.VERSION}

    async def setup(self, worker: Worker) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._url = service_url(worker, "site", "scrape")
        self._news = News(self.seed, self.pages)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.stories_in_flight + 1),  # and a list page
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            auto_decompress=False,
        )

    async def run(self, worker: Worker) -> None:
        """Read stories as they are listed; those in flight at the stop are cancelled."""
        listed: asyncio.Queue[tuple[Story, Listed]] = asyncio.Queue(STORIES_PER_PAGE)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._list(worker, listed)),
                *(
                    group.create_task(self._read(worker, listed))
                    for _ in range(self.stories_in_flight)
                ),
            ]
            await worker.stopped()
            for task in tasks:
                task.cancel()

    async def teardown(self, worker: Worker) -> None:
        """Close the session; its sockets are closed in the loop's next iteration."""
        if self._session:
            await self._session.close()
            await asyncio.sleep(0)

    async def _list(self, worker: Worker, listed: asyncio.Queue[tuple[Story, Listed]]) -> None:
        """Fetch list pages ahead of the readers, by at most one page of stories."""
        first = worker.index * self.pages // worker.workers
        for place in itertools.count(first):
            page = place % self.pages + 1
            try:
                found = self._parser.listed(await self._fetch(worker, f"/news?p={page}"))
                stories = self._news.listed(page)
                if [story.id for story in stories] != [story.id for story in found]:
                    raise WrongPageError(
                        f"lists {len(found)} stories that are not the {len(stories)} expected"
                    )
            except FAILURES as error:
                worker.fail(f"list page {page}: {type(error).__name__}: {error}")
                await asyncio.sleep(PAUSE_S)
                continue
            for pair in zip(stories, found, strict=True):
                await listed.put(pair)

    async def _read(self, worker: Worker, listed: asyncio.Queue[tuple[Story, Listed]]) -> None:
        """Fetch, parse and check one story after the other."""
        while worker.running:
            story, found = await listed.get()
            try:
                page = await self._fetch(worker, f"/item?id={found.id}")
                self._check(story, found, self._parser.commented(page))
            except FAILURES as error:
                worker.fail(f"story {story.id}: {type(error).__name__}: {error}")
            else:
                worker.operations += 1

    async def _fetch(self, worker: Worker, address: str) -> bytes:
        assert self._session
        async with self._session.get(self._url + address) as response:
            if response.status != 200:
                raise WrongPageError(f"status {response.status}")
            body = await response.read()
        worker.bytes += len(body)
        return body

    def _check(self, story: Story, found: Listed, thread: list[Commented]) -> None:
        """Check the story, the number of comments, and the first comment."""
        expected = Listed(
            story.id, story.title, story.link, story.points, story.author, story.comments
        )
        if found != expected:
            raise WrongPageError(f"listed as {found} instead of {expected}")
        if len(thread) != story.comments:
            raise WrongPageError(f"{len(thread)} comments instead of {story.comments}")
        for first in itertools.islice(self._news.thread(story), 1):
            fact = Commented(first.id, first.author, first.indent, first.text)
            if thread[0] != fact:
                raise WrongPageError(f"the first comment is {thread[0]} instead of {fact}")
        if not all(comment.author and comment.text for comment in thread):
            raise WrongPageError("a comment without author or text")
