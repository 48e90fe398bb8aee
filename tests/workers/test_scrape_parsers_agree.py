"""All parsers return the same records, and they match the site's data."""

import importlib

import pytest

from workers.services.site.pages import item_page, list_page
from workers.services.site.stories import RARE, News, Story
from workers.workloads.parts.parsers import Commented, Listed, leading_number, load_parser

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


def test_the_default_parser_and_the_portable_one_are_there() -> None:
    assert {"lexbor", "stdlib"} <= set(INSTALLED)


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("page", [1, 100, ONE_COMMENT // 30 + 1, NO_COMMENT // 30 + 1])
def test_list_pages_give_the_facts(name: str, page: int) -> None:
    found = load_parser(name).listed(list_page(NEWS, page))
    assert found == [listed(story) for story in NEWS.listed(page)]


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 2_999, ONE_COMMENT, NO_COMMENT])
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
