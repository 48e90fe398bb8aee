"""The site's pages depend on the seed alone, and a scraper written for Hacker News reads them.

The scraper is what people write for that site, with a parser of theirs; it knows the site's classes
and nesting, and nothing of ours.
"""

import hashlib
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from workers.services.site.pages import Shelf, item_page, list_page
from workers.services.site.stories import News

pytestmark = pytest.mark.one_build

NEWS = News(seed=1, pages=100)


def parse(page: bytes) -> Any:
    """The document, by a parser that people use."""
    return LexborHTMLParser(page.decode())


def test_the_more_link_leads_through_all_pages_and_ends() -> None:
    shelf, address, seen = Shelf(News(seed=1, pages=3)), "/", []
    while address:
        found = shelf.find(address)
        assert found
        document = parse(found[0])
        seen += [row.attributes["id"] for row in document.css("tr.athing.submission")]
        more = [link.attributes["href"] for link in document.css("a.morelink")]
        address = f"/news{more[0]}" if more else ""
    assert seen == [str(story.id) for page in (1, 2, 3) for story in NEWS.listed(page)]


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
    """However many there are; with it, how nested comments are and which entities are in them."""
    assert hashlib.sha256(page).hexdigest()[:16] == expected
