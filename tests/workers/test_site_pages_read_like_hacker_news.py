"""The site's pages depend on the seed alone, and a scraper written for Hacker News reads them.

The scraper is what people write for that site, with a parser of theirs; it knows the site's classes
and nesting, and nothing of ours.
"""

import hashlib
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from workers.services.site.pages import Shelf, item_page, list_page
from workers.services.site.stories import (
    COMMENTS_LEAST,
    COMMENTS_MOST,
    DEEPEST,
    FIRST_ID,
    ID_STEP,
    RARE,
    News,
)

pytestmark = pytest.mark.one_build

NEWS = News(seed=1, pages=100)


def parse(page: bytes) -> Any:
    """The document, by a parser that people use."""
    return LexborHTMLParser(page.decode())


def scrape_list(page: bytes) -> list[dict[str, str]]:
    document = parse(page)
    found = []
    rows = document.css("tr.athing.submission")
    for row, details in zip(rows, document.css("td.subtext"), strict=True):
        link = row.css_first("span.titleline a")
        line = details.css_first("span.subline")
        score = line.css_first("span.score")
        *_, comments = line.css("a")
        found.append(
            {
                "id": row.attributes["id"],
                "rank": row.css_first("span.rank").text(),
                "title": link.text(),
                "url": link.attributes["href"],
                "site": row.css_first("span.sitebit.comhead span.sitestr").text(),
                "points": score.text(),
                "score_id": score.attributes["id"],
                "by": line.css_first("a.hnuser").text(),
                "profile": line.css_first("a.hnuser").attributes["href"],
                "age": line.css_first("span.age").attributes["title"],
                "permalink": line.css_first("span.age a").attributes["href"],
                "comments": comments.text(),
                "thread": comments.attributes["href"],
                "vote": row.css_first("td.votelinks a").attributes["id"],
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
    assert not list(parse(item_page(NEWS, NEWS.story(none))).css("tr.comtr"))


def test_a_thread_reads_as_nested_comments() -> None:
    story = NEWS.story(3)
    document = parse(item_page(NEWS, story))
    (top,) = document.css("table.fatitem tr.athing.submission")
    assert top.css_first("span.titleline a").text() == story.title
    rows = list(document.css("table.comment-tree tr.athing.comtr"))
    thread = list(NEWS.thread(story))
    assert len(rows) == len(thread) == story.comments
    for place, (row, comment) in enumerate(zip(rows, thread, strict=True)):
        indent = row.css_first("td.ind")
        assert row.attributes["id"] == str(comment.id)
        assert indent.attributes["indent"] == str(comment.indent)
        assert indent.css_first("img").attributes["width"] == str(40 * comment.indent)
        assert row.css_first("a.hnuser").text() == comment.author
        assert row.css_first("span.age a").attributes["href"] == f"item?id={comment.id}"
        body = row.css_first("div.comment")
        assert body.css_first("div.commtext.c00").text() == comment.text
        assert len(body.css("div.commtext p")) < len(comment.paragraphs)
        assert body.css_first("div.reply").text() == "reply"
        below = [other.indent for other in thread[place + 1 :]]
        own = next((k for k, depth in enumerate(below) if depth <= comment.indent), len(below))
        assert row.css_first("a.togg.clicky").attributes["n"] == str(1 + own)
        following = [link.attributes["href"] for link in row.css("span.navs a.clicky")]
        sibling = own < len(below) and below[own] == comment.indent
        assert following[:-1] == ([f"#{thread[place + 1 + own].id}"] if sibling else [])


def test_the_more_link_leads_through_all_pages_and_ends() -> None:
    shelf, address, seen = Shelf(News(seed=1, pages=3)), "/", []
    while address:
        found = shelf.find(address)
        assert found
        seen += [row["id"] for row in scrape_list(found[0])]
        more = [link.attributes["href"] for link in parse(found[0]).css("a.morelink")]
        address = f"/news{more[0]}" if more else ""
    assert seen == [str(story.id) for page in (1, 2, 3) for story in NEWS.listed(page)]


def digest(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()[:16]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (list_page(NEWS, 1), "5ab0246d4ddc7b7d"),
        (list_page(NEWS, 100), "99091e82ddc2111b"),
        (item_page(NEWS, NEWS.story(0)), "dd7ba18473842d1f"),
        (item_page(NEWS, NEWS.story(2_999)), "fe3eaa18c13ca4f9"),
        (list_page(News(seed=2), 1), "a7bcd8af93654b9f"),
    ],
    ids=["first list", "last list", "first story", "last story", "another seed"],
)
def test_a_page_is_the_same_everywhere(page: bytes, expected: str) -> None:
    assert digest(page) == expected


def test_the_number_of_pages_does_not_change_what_is_on_them() -> None:
    small = News(seed=1, pages=2)
    assert small.listed(2) == NEWS.listed(2)
    assert item_page(small, small.story(7)) == item_page(NEWS, NEWS.story(7))


def test_pages_are_as_heavy_as_real_ones() -> None:
    threads = [len(item_page(NEWS, story)) for story in NEWS.listed(3)]
    assert 25_000 < len(list_page(NEWS, 3)) < 40_000
    assert 60_000 < sum(threads) / len(threads) < 85_000


def test_stories_are_ordinary_but_for_the_rare_ones() -> None:
    stories = [NEWS.story(place) for place in range(3_000)]
    odd = {story.place for story in stories if story.comments < COMMENTS_LEAST}
    assert odd == {place for place in range(3_000) if place % (RARE // 2) == RARE // 2 - 1}
    ordinary = [story for story in stories if story.place not in odd]
    assert max(story.comments for story in ordinary) == COMMENTS_MOST
    assert 59 < sum(story.comments for story in ordinary) / len(ordinary) < 61
    assert {story.comments for story in stories if story.place in odd} == {0, 1}
    assert all(story.points >= 2 for story in ordinary)


def test_threads_are_nested_step_by_step() -> None:
    deepest = 0
    for story in NEWS.listed(1):
        before = -1
        thread = list(NEWS.thread(story))
        assert len(thread) == story.comments
        for comment in thread:
            assert 0 <= comment.indent <= before + 1
            before = comment.indent
            deepest = max(deepest, before)
    assert deepest == DEEPEST


def test_a_story_is_found_by_its_id_and_nothing_else_is() -> None:
    story = NEWS.story(42)
    assert NEWS.find(story.id) == story
    first_comment = next(NEWS.thread(story))
    for stranger in (first_comment.id, FIRST_ID - ID_STEP, FIRST_ID + 3_000 * ID_STEP, 0, -1):
        assert NEWS.find(stranger) is None


def test_texts_need_decoding() -> None:
    """A title or comment without entities would hide a parser that does not decode them."""
    titles = [story.title for page in range(1, 11) for story in NEWS.listed(page)]
    assert sum(any(sign in title for sign in "&<'\"–é") for title in titles) > 0.7 * len(titles)
    texts = [comment.text for story in NEWS.listed(1) for comment in NEWS.thread(story)]
    assert sum(any(sign in text for sign in "&<'\"–é/") for text in texts) > 0.9 * len(texts)
