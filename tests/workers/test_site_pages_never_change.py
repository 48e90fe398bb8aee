"""The site's pages depend only on the seed, not on the build, the process or the hash seed."""

import hashlib

import pytest

from workers.services.site.pages import item_page, list_page
from workers.services.site.stories import (
    COMMENTS_LEAST,
    COMMENTS_MOST,
    DEEPEST,
    FIRST_ID,
    ID_STEP,
    RARE,
    News,
)

NEWS = News(seed=1, pages=100)


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


def test_another_seed_is_another_site() -> None:
    assert list_page(NEWS, 1) != list_page(News(seed=2), 1)
    assert item_page(NEWS, NEWS.story(0)) != item_page(News(seed=2), News(seed=2).story(0))


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
