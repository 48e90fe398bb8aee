"""The site's pages by address, each rendered once and then served from memory."""

from urllib.parse import parse_qs, urlsplit

from workers.services.site.pages import PIXEL, STYLE, item_page, list_page
from workers.services.site.stories import PAGES, News

HTML = "text/html; charset=utf-8"
# Pages kept in memory, at about 75 kB each. The default site has 3,100; of a site with many
# thousand list pages, those that do not fit are rendered again at each request.
KEPT_PAGES = 10_000
FIXED = {"/news.css": (STYLE, "text/css; charset=utf-8"), "/s.gif": (PIXEL, "image/gif")}

Page = tuple[bytes, str]  # the body and its content type


class Shelf:
    """Finds the page for an address, and renders it at its first request."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._pages: dict[str, Page] = dict(FIXED)

    def find(self, address: str) -> Page | None:
        """Return the page at `address` (path and query as requested); None if there is none."""
        page = self._pages.get(address)
        return page if page is not None else self._look_up(address)

    def fill(self) -> None:
        """Render all pages of a site of the default size, so that no request has to wait.

        It takes about a second, better spent before the first window than inside it.
        """
        for number in range(1, min(self._news.pages, PAGES) + 1):
            self._list(number)
            for story in self._news.listed(number):
                self._item(story.id)

    def _look_up(self, address: str) -> Page | None:
        parts = urlsplit(address)
        asked = parse_qs(parts.query)
        if parts.path in ("/", "/news"):
            return self._list(_number(asked.get("p", ["1"])))
        if parts.path == "/item":
            return self._item(_number(asked.get("id", [])))
        return None

    def _list(self, number: int) -> Page | None:
        if not 1 <= number <= self._news.pages:
            return None
        address = f"/news?p={number}"
        return self._pages.get(address) or self._keep(address, list_page(self._news, number))

    def _item(self, item_id: int) -> Page | None:
        address = f"/item?id={item_id}"
        if page := self._pages.get(address):
            return page
        story = self._news.find(item_id)
        return self._keep(address, item_page(self._news, story)) if story else None

    def _keep(self, address: str, body: bytes) -> Page:
        page = (body, HTML)
        if len(self._pages) < KEPT_PAGES:
            self._pages[address] = page
        return page


def _number(values: list[str]) -> int:
    """Parse the last value as a number; anything else is 0, which no page has."""
    text = values[-1] if values else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
