"""A scraper written for Hacker News works on the site if only the base URL is changed.

The scraper below is what people write for that site, on a small tree made with the standard
library; it knows the site's classes and nesting, and nothing of ours.
"""

from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from tests.support.servers import fetch, running_site
from workers.services.site.pages import item_page, list_page
from workers.services.site.stories import RARE, News

pytestmark = pytest.mark.one_build

VOID = {"br", "img", "input", "link", "meta"}
NEWS = News(seed=1, pages=100)


class Node:
    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.inside: list[Node | str] = []

    def find_all(self, tag: str, *classes: str) -> Iterator["Node"]:
        for node in self.inside:
            if isinstance(node, Node):
                if node.tag == tag and set(classes) <= set(node["class"].split()):
                    yield node
                yield from node.find_all(tag, *classes)

    def find(self, tag: str, *classes: str) -> "Node":
        return next(self.find_all(tag, *classes))

    def __getitem__(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    @property
    def text(self) -> str:
        return "".join(node if isinstance(node, str) else node.text for node in self.inside)


class Tree(HTMLParser):
    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open = [Node("document", {})]
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop().tag != tag:  # what was left open inside ends with it, as `<p>` does
            pass

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parse(page: bytes) -> Node:
    tree = Tree(page)
    assert len(tree.open) == 1, [node.tag for node in tree.open]
    return tree.open[0]


def scrape_list(page: bytes) -> list[dict[str, str]]:
    document = parse(page)
    found = []
    rows = document.find_all("tr", "athing", "submission")
    for row, details in zip(rows, document.find_all("td", "subtext"), strict=True):
        link = row.find("span", "titleline").find("a")
        line = details.find("span", "subline")
        score = line.find("span", "score")
        *_, comments = line.find_all("a")
        found.append(
            {
                "id": row["id"],
                "rank": row.find("span", "rank").text,
                "title": link.text,
                "url": link["href"],
                "site": row.find("span", "sitebit", "comhead").find("span", "sitestr").text,
                "points": score.text,
                "score_id": score["id"],
                "by": line.find("a", "hnuser").text,
                "profile": line.find("a", "hnuser")["href"],
                "age": line.find("span", "age")["title"],
                "permalink": line.find("span", "age").find("a")["href"],
                "comments": comments.text,
                "thread": comments["href"],
                "vote": row.find("td", "votelinks").find("a")["id"],
            }
        )
    return found


def test_a_list_page_reads_as_thirty_stories() -> None:
    found = scrape_list(list_page(NEWS, 7))
    facts = NEWS.listed(7)
    assert len(found) == len(facts) == 30
    for row, story in zip(found, facts, strict=True):
        assert row == {
            "id": str(story.id),
            "rank": f"{story.place + 1}.",
            "title": story.title,
            "url": story.link,
            "site": story.site,
            "points": f"{story.points} points",
            "score_id": f"score_{story.id}",
            "by": story.author,
            "profile": f"user?id={story.author}",
            "age": row["age"],
            "permalink": f"item?id={story.id}",
            "comments": f"{story.comments}\N{NO-BREAK SPACE}comments",
            "thread": f"item?id={story.id}",
            "vote": f"up_{story.id}",
        }
        assert row["age"].startswith("2026-01-01T")


def test_rare_stories_are_worded_as_there() -> None:
    one, none = RARE // 2 - 1, RARE - 1
    by_place = {
        page * 30 + line: row
        for page in (one // 30, none // 30)
        for line, row in enumerate(scrape_list(list_page(NEWS, page + 1)))
    }
    assert by_place[one]["comments"] == "1\N{NO-BREAK SPACE}comment"
    assert by_place[one]["points"] == "1 point"
    assert by_place[none]["comments"] == "discuss"
    assert not list(parse(item_page(NEWS, NEWS.story(none))).find_all("tr", "comtr"))


def test_a_thread_reads_as_nested_comments() -> None:
    story = NEWS.story(3)
    document = parse(item_page(NEWS, story))
    (top,) = document.find("table", "fatitem").find_all("tr", "athing", "submission")
    assert top.find("span", "titleline").find("a").text == story.title
    rows = list(document.find("table", "comment-tree").find_all("tr", "athing", "comtr"))
    thread = list(NEWS.thread(story))
    assert len(rows) == len(thread) == story.comments
    for place, (row, comment) in enumerate(zip(rows, thread, strict=True)):
        indent = row.find("td", "ind")
        assert row["id"] == str(comment.id)
        assert indent["indent"] == str(comment.indent)
        assert indent.find("img")["width"] == str(40 * comment.indent)
        assert row.find("a", "hnuser").text == comment.author
        assert row.find("span", "age").find("a")["href"] == f"item?id={comment.id}"
        body = row.find("div", "comment")
        assert body.find("div", "commtext", "c00").text == comment.text
        assert len(list(body.find("div", "commtext").find_all("p"))) < len(comment.paragraphs)
        assert body.find("div", "reply").text == "reply"
        below = [other.indent for other in thread[place + 1 :]]
        own = next((k for k, depth in enumerate(below) if depth <= comment.indent), len(below))
        assert row.find("a", "togg", "clicky")["n"] == str(1 + own)
        following = [link["href"] for link in row.find("span", "navs").find_all("a", "clicky")]
        sibling = own < len(below) and below[own] == comment.indent
        assert following[:-1] == ([f"#{thread[place + 1 + own].id}"] if sibling else [])


@pytest.mark.slow
def test_the_more_link_leads_through_all_pages_and_ends() -> None:
    with running_site("--pages=3") as url:
        address, seen = "/", []
        while address:
            status, headers, page = fetch(url + address)
            assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
            seen += [row["id"] for row in scrape_list(page)]
            more = [link["href"] for link in parse(page).find_all("a", "morelink")]
            address = f"/news{more[0]}" if more else ""
    assert seen == [str(story.id) for page in (1, 2, 3) for story in NEWS.listed(page)]
