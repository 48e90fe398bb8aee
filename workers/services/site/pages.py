"""The site's pages, with the structure of Hacker News', and the server that gives them.

Rows, classes, ids, nesting, unclosed `<p>`s and both kinds of quotes are the same, so a scraper
written for that site works here if only the base URL is changed. The texts are our own.
"""

import asyncio
import contextlib
import html
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from workers.services.serving import BACKLOG, until, url_of
from workers.services.site.stories import ID_STEP, PAGES, Comment, News, Story

DAY = "2026-01-01"  # the date of every story and comment, so that pages never change
DAY_S = 1_767_225_600  # its midnight, UTC, in seconds since the epoch
INDENT_PX = 40

# Ages as they are written: (title of the span, words), one for each minute of the day.
_AGES = [
    (
        f"{DAY}T{minute // 60:02}:{minute % 60:02}:00 {DAY_S + 60 * minute}",
        f"{hours} hour{'s' * (hours != 1)} ago"
        if (hours := 23 - minute // 60)
        else f"{60 - minute % 60} minute{'s' * (minute % 60 != 59)} ago",
    )
    for minute in range(1_440)
]

STYLE = (
    b"body, td { font: 10pt Verdana, sans-serif; color: #828282 }\n"
    b"a { color: #000; text-decoration: none } .title a, .commtext { color: #000 }\n"
    b".subtext, .subtext a, .comhead, .comhead a, .reply a { color: #828282; font-size: 7pt }\n"
    b".votearrow:after { content: '\\25b2' } .commtext { font-size: 9pt }\n"
)
# A transparent pixel: comments are indented by stretching an image of it.
PIXEL = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c000000000100010000020144003b"
)


def _frame(operation: str, title: str, body: str) -> bytes:
    """Put a page's rows between the header and the footer of all pages."""
    return (
        f'<html lang="en" op="{operation}"><head><meta name="referrer" content="origin">'
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1.0">'
        '<link rel="stylesheet" type="text/css" href="news.css">'
        f"<title>{title}</title></head><body><center>"
        '<table id="hnmain" border="0" cellpadding="0" cellspacing="0" width="85%" '
        'bgcolor="#f6f6ef"><tr><td bgcolor="#ff6600">'
        '<table border="0" cellpadding="0" cellspacing="0" width="100%" style="padding:2px"><tr>'
        '<td style="line-height:12pt; height:10px;"><span class="pagetop">'
        '<b class="hnname"><a href="news">Scaling News</a></b> <a href="newest">new</a> | '
        '<a href="front">past</a> | <a href="newcomments">comments</a> | <a href="ask">ask</a> | '
        '<a href="show">show</a> | <a href="jobs">jobs</a> | '
        '<a href="submit" rel="nofollow">submit</a></span></td>'
        '<td style="text-align:right;padding-right:4px;"><span class="pagetop">'
        '<a href="login?goto=news">login</a></span></td></tr></table></td></tr>\n'
        f"{body}"
        '<tr><td><img src="s.gif" height="10" width="0"><br><center><span class="yclinks">'
        '<a href="newsguidelines.html">Guidelines</a> | <a href="newsfaq.html">FAQ</a> | '
        '<a href="lists">Lists</a></span><br><br></center></td></tr>'
        "</table></center></body></html>\n"
    ).encode()


def _count(number: int, noun: str, space: str = " ") -> str:
    return f"{number}{space}{noun}" if number == 1 else f"{number}{space}{noun}s"


def _story_rows(story: Story, rank: str, goto: str) -> str:
    """Render the two rows of a story, the same in a list and at the top of its thread."""
    title, words = _AGES[story.minute]
    link = html.escape(story.link)
    comments = _count(story.comments, "comment", "&nbsp;") if story.comments else "discuss"
    return (
        f'<tr class="athing submission" id="{story.id}"><td align="right" valign="top" '
        f'class="title"><span class="rank">{rank}</span></td><td valign="top" class="votelinks">'
        f"<center><a id='up_{story.id}' href='vote?id={story.id}&amp;how=up&amp;goto={goto}'>"
        "<div class='votearrow' title='upvote'></div></a></center></td>"
        f'<td class="title"><span class="titleline"><a href="{link}">{html.escape(story.title)}</a>'
        f'<span class="sitebit comhead"> (<a href="from?site={story.site}">'
        f'<span class="sitestr">{story.site}</span></a>)</span></span></td></tr>'
        '<tr><td colspan="2"></td><td class="subtext"><span class="subline">\n'
        f'<span class="score" id="score_{story.id}">{_count(story.points, "point")}</span> by '
        f'<a href="user?id={story.author}" class="hnuser">{story.author}</a> '
        f'<span class="age" title="{title}"><a href="item?id={story.id}">{words}</a></span> '
        f'<span id="unv_{story.id}"></span> | '
        f'<a href="hide?id={story.id}&amp;goto={goto}">hide</a> | '
        f'<a href="item?id={story.id}">{comments}</a></span></td></tr>\n'
    )


def list_page(news: News, number: int) -> bytes:
    """Render list page `number`, counted from 1."""
    rows = []
    for story in news.listed(number):
        rows.append(_story_rows(story, f"{story.place + 1}.", "news"))
        rows.append('<tr class="spacer" style="height:5px"></tr>')
    if number < news.pages:
        rows.append(
            '<tr class="morespace" style="height:10px"></tr><tr><td colspan="2"></td>'
            f"<td class='title'><a href='?p={number + 1}' class='morelink' rel='next'>More</a>"
            "</td></tr>"
        )
    body = (
        '<tr style="height:10px"></tr><tr id="bigbox"><td>'
        f'<table border="0" cellpadding="0" cellspacing="0">{"".join(rows)}</table></td></tr>'
    )
    return _frame("news", "Scaling News", body)


def item_page(news: News, story: Story) -> bytes:
    """Render a story with its thread."""
    thread = list(news.thread(story))
    neighbours = _neighbours(thread)
    body = (
        f'<tr id="pagespace" title="{html.escape(story.title)}" style="height:10px"></tr><tr><td>'
        f'<table class="fatitem" border="0">{_story_rows(story, "", f"item%3Fid%3D{story.id}")}'
        '<tr style="height:10px"></tr><tr><td colspan="2"></td><td>'
        '<form action="comment" method="post">'
        f'<input type="hidden" name="parent" value="{story.id}">'
        '<textarea name="text" rows="8" cols="80" wrap="virtual"></textarea><br><br>'
        '<input type="submit" value="add comment"></form></td></tr></table><br><br>\n'
        '<table border="0" class="comment-tree">'
        f"{''.join(map(_comment_row, thread, neighbours))}</table></td></tr>"
    )
    return _frame("item", f"{html.escape(story.title)} | Scaling News", body)


def missing_page() -> bytes:
    """Render the page for an unknown address."""
    body = '<tr><td><p>No such page. <a href="/news">Back to the news</a></p></td></tr>'
    return _frame("missing", "No such page", body)


def _neighbours(thread: Sequence[Comment]) -> list[tuple[str, int]]:
    """For each comment: its link to the next sibling, and how many rows its thread has.

    One pass from the end: a comment's thread ends at the nearest comment below it with the same or
    a smaller indent.
    """
    found = []
    ends = [len(thread)] * (max((comment.indent for comment in thread), default=0) + 2)
    for place in range(len(thread) - 1, -1, -1):
        indent = thread[place].indent
        end = ends[indent]
        following = (
            f' | <a href="#{thread[end].id}" class="clicky" aria-hidden="true">next</a>'
            if (end < len(thread) and thread[end].indent == indent)
            else ""
        )
        found.append((following, end - place))
        for deeper in range(indent, len(ends)):
            ends[deeper] = place
    found.reverse()
    return found


def _comment_row(comment: Comment, neighbour: tuple[str, int]) -> str:
    following, size = neighbour
    title, words = _AGES[comment.minute]
    number, author = comment.id, comment.author
    story = number - number % ID_STEP
    text = "<p>".join([paragraph.markup for paragraph in comment.paragraphs])
    return (
        f'<tr class="athing comtr" id="{number}"><td><table border="0"><tr>'
        f'<td class="ind" indent="{comment.indent}">'
        f'<img src="s.gif" height="1" width="{INDENT_PX * comment.indent}"></td>'
        f'<td valign="top" class="votelinks"><center><a id=\'up_{number}\' '
        f"href='vote?id={number}&amp;how=up&amp;goto=item%3Fid%3D{story}'>"
        "<div class='votearrow' title='upvote'></div></a></center></td>"
        '<td class="default"><div style="margin-top:2px; margin-bottom:-10px;">'
        f'<span class="comhead"><a href="user?id={author}" class="hnuser">{author}</a> '
        f'<span class="age" title="{title}"><a href="item?id={number}">{words}</a></span> '
        f'<span id="unv_{number}"></span><span class="navs">{following} '
        f'<a class="togg clicky" id="{number}" n="{size}" href="javascript:void(0)">[–]</a>'
        '<span class="onstory"></span></span></span></div><br>\n'
        f'<div class="comment"><div class="commtext c00">{text}</div><div class=\'reply\'><p>'
        f'<font size="1"><u><a href="reply?id={number}&amp;goto=item%3Fid%3D{story}%23{number}" '
        'rel="nofollow">reply</a></u></font></div></div></td></tr></table></td></tr>'
    )


# -------------------------------------------------------------------------------------------- shelf
# The site's pages by address, each rendered once and then served from memory.

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


# ------------------------------------------------------------------------------------------- server
# aiohttp's low-level server, which is cheap enough not to be the bottleneck. One process serves one
# port.

SHUTDOWN_S = 0.5  # for answers in progress when the site has to stop


def handler(shelf: Shelf, delay_s: float) -> Callable[[web.BaseRequest], Awaitable[web.Response]]:
    """Make the handler of all requests; it waits at least `delay_s` before each answer."""
    missing = missing_page()

    async def answer(request: web.BaseRequest) -> web.Response:
        if delay_s:
            await until(time.monotonic_ns() + round(delay_s * 1e9))
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        page = shelf.find(request.raw_path)
        if page is None:
            return web.Response(status=404, body=missing, headers={"Content-Type": HTML})
        body, content_type = page
        return web.Response(body=body, headers={"Content-Type": content_type})

    return answer


@contextlib.asynccontextmanager
async def serving(shelf: Shelf, listening: socket.socket, delay_s: float) -> AsyncIterator[str]:
    """Serve until the block ends; give the URL once it has served a page."""
    server = web.Server(handler(shelf, delay_s), access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listening, backlog=BACKLOG).start()
        await _check(listening)
        yield url_of(listening)
    finally:
        await runner.cleanup()


async def _check(listening: socket.socket) -> None:
    """Fetch a page as a client would.

    Raises:
        ConnectionError: the answer is not a page.
    """
    host, port = listening.getsockname()[:2]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(b"GET /news HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
    if not answer.startswith(b"HTTP/1.1 200 ") or not answer.rstrip().endswith(b"</html>"):
        raise ConnectionError(f"the site failed its own check; it answered {answer[:80]!r}")
