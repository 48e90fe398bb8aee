"""The data behind the news site: stories and threads, generated from a seed.

The site renders them, and a scraping worker generates the same ones to check its results. Only
`random.Random(text).random()` is used, which Python guarantees to be the same in every version.
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

# -------------------------------------------------------------------------------------------- words
# The texts of the news site: phrases, as text and as HTML.
#
# They are full of `'`, `&`, `<`, `"`, dashes and accents, so that a parser that decodes them
# wrongly returns another text, which the workload notices.

PARAGRAPHS = 256  # number of different ones


class Phrase(NamedTuple):
    """A piece of text: `text` is what a reader sees, `markup` what the page contains."""

    text: str
    markup: str


# Domains under `.example` are reserved (RFC 2606), so no link leads anywhere.
SITES = tuple(
    f"{name}.example"
    for name in (
        "papers compilers kernelnotes smallweb loopcraft slowdata threadsafe oldtapes lowlatency "
        "garden.tools openmaps radio.labs typesetting databases.weekly nightbuild bytes&pieces "
        "shiplog fieldnotes museum.of.code quietmachines"
    )
    .replace("&", "-and-")
    .split()
)
AUTHORS = tuple(
    f"{first}{last}"
    for first in ("ada", "bo", "ceres", "dmitri_", "elif", "fjord-", "gus", "hana", "ivo", "june")
    for last in ("", "42", "_k", "lang", "smith", "wren", "-dev", "1977", "x", "okafor")
)
THINGS = (
    "Event loops", "A 40-year-old compiler", "Free-threaded Python", "TCP's small packets",
    "The world's slowest database", "Cafés with naïve Wi-Fi", "My grandmother's radio",
    "Garbage collectors", "An SQL planner", "Reference counts", "Tape drives & time", "B-trees",
    "The \"last\" mutex", "Lock-free queues", "A <blink> tag", "Sockets", "Maps of the sea floor",
)  # fmt: skip
CLAIMS = (
    "aren't what you'd expect", "explained with string & glue", "– a retrospective",
    "and the cost of \"free\"", "can't be measured twice", "in <100 lines", "at 3 o'clock & later",
    "don't scale; here's why", "and other people's problems", "(R&D notes)",
    "you've never heard of", "won't fit in L2, it's fine",
)  # fmt: skip
OPENERS = (
    "I don't think that", "We've found that", "It's funny how", "In my experience,", "To be fair,",
    "The article's point is that", "Years ago at a R&D lab", "Isn't it odd that",
    "As the author says,", "Nobody's saying that",
)  # fmt: skip
SUBJECTS = (
    "the scheduler", "a busy loop", "the kernel's socket buffer", "one more thread",
    "the \"fast\" path", "our old cron job", "an uncontended lock", "the parser",
    "somebody's cache", "a 64 KiB page", "the naïve version", "every reference count",
    "the on-call engineer",
)  # fmt: skip
VERBS = (
    "wakes up before", "is never as slow as", "quietly waits for", "can't outrun",
    "has been blamed for", "costs more than", "shares a cache line with", "hides behind",
    "is <10 % of", "doesn't know about", "was written after",
)  # fmt: skip
ENDINGS = (
    "the network does.", "a query & its plan.", "what you'd measure on a laptop.",
    "the thing that's printed in the table.", "a cold start – every time.", "an honest benchmark.",
    "the rest of us, unfortunately.",
)  # fmt: skip


def phrase(text: str) -> Phrase:
    """Escape a comment's text as Hacker News does, including slashes."""
    return Phrase(text, html.escape(text).replace("/", "&#x2F;"))


def _aside(text: str) -> Phrase:
    return Phrase(text, f"<i>{phrase(text).markup}</i>")


def _link(text: str) -> Phrase:
    address = phrase(text).markup
    return Phrase(text, f'<a href="{address}" rel="nofollow">{address}</a>')


def _sentence(number: int) -> Phrase:
    opener = OPENERS[number % len(OPENERS)]
    subject = SUBJECTS[number % len(SUBJECTS)]
    verb = VERBS[number * 3 % len(VERBS)]
    ending = ENDINGS[number * 5 % len(ENDINGS)]
    return phrase(f"{opener} {subject} {verb} {ending}")


def _paragraph(number: int) -> Phrase:
    """Join one or two sentences; some are followed by an aside or a link."""
    parts = [_sentence(2 * number)]
    if number % 3 == 0:
        parts += [phrase(" "), _sentence(2 * number + 1)]
    if number % 5 == 0:
        parts += [phrase(" "), _aside(f"It's {number} & counting.")]
    if number % 8 == 0:
        site = SITES[number % len(SITES)]
        parts += [phrase(" ["), _link(f"https://{site}/posts/{number}?a=1&b=2"), phrase("]")]
    return Phrase("".join(part.text for part in parts), "".join(part.markup for part in parts))


WRITINGS = tuple(_paragraph(number) for number in range(PARAGRAPHS))


# ------------------------------------------------------------------------------------------ stories

STORIES_PER_PAGE = 30
PAGES = 100
FIRST_ID = 40_000_000
ID_STEP = 1_000  # a story's comments have the ids between its own and the next story's
COMMENTS_LEAST, COMMENTS_MOST = 40, 80  # 60 on average, like a front-page story's
DEEPEST = 8
ANSWERS = 0.55  # share of comments that answer the one above
TWO_PARAGRAPHS = 0.3  # share of comments with two paragraphs; makes pages of about 70 KB
MINUTES_A_DAY = 1_440
# One story in this many has no comment yet ("discuss"), and one has a single point and comment.
# Real lists have such rows; a scraper that stumbles over them is wrong.
RARE = 600


class Comment(NamedTuple):
    """One comment of a thread, in the order of the page; `minute` is its minute of the day."""

    id: int
    author: str
    indent: int
    minute: int
    paragraphs: tuple[Phrase, ...]

    @property
    def text(self) -> str:
        """The text as a parser returns it: all paragraphs, with nothing between them."""
        return "".join(paragraph.text for paragraph in self.paragraphs)


class Story(NamedTuple):
    """One story, as a list shows it. `place` counts from 0 at the top of page 1."""

    place: int
    id: int
    title: str
    site: str
    link: str
    points: int
    author: str
    minute: int
    comments: int


def _choose[T](random: Random, options: tuple[T, ...]) -> T:
    return options[int(random.random() * len(options))]


@dataclass(frozen=True, slots=True)
class News:
    """All the news of one seed: `pages` list pages of 30 stories, each with its thread."""

    seed: int = 1
    pages: int = PAGES

    def story(self, place: int) -> Story:
        """Return the story at `place`; the same on every build and in every process."""
        random = Random(f"{self.seed}/story/{place}")
        thing, claim = _choose(random, THINGS), _choose(random, CLAIMS)
        site = _choose(random, SITES)
        number = int(random.random() * 10_000)
        points = 2 + int(random.random() ** 3 * 900)
        span = COMMENTS_MOST - COMMENTS_LEAST + 1
        comments = COMMENTS_LEAST + int(random.random() * span)
        if place % RARE == RARE // 2 - 1:
            points, comments = 1, 1
        elif place % RARE == RARE - 1:
            comments = 0
        return Story(
            place=place,
            id=FIRST_ID + ID_STEP * place,
            title=f"{thing} {claim}",
            site=site,
            link=f"https://{site}/{number}/story.html?from=list&no={place}",
            points=points,
            author=_choose(random, AUTHORS),
            minute=int(random.random() * MINUTES_A_DAY),
            comments=comments,
        )

    def listed(self, page: int) -> list[Story]:
        """Return the 30 stories of a list page; pages count from 1."""
        first = (page - 1) * STORIES_PER_PAGE
        return [self.story(place) for place in range(first, first + STORIES_PER_PAGE)]

    def find(self, item_id: int) -> Story | None:
        """Return the story with this id; None if the site has none."""
        place, rest = divmod(item_id - FIRST_ID, ID_STEP)
        if rest or not 0 <= place < self.pages * STORIES_PER_PAGE:
            return None
        return self.story(place)

    def thread(self, story: Story) -> Iterator[Comment]:
        """Generate the story's comments in page order; a reply is indented one level deeper."""
        random = Random(f"{self.seed}/thread/{story.place}")
        indent = -1
        for number in range(1, story.comments + 1):
            draw = random.random()
            if draw < ANSWERS:
                indent = min(indent + 1, DEEPEST)
            else:  # goes back up
                indent = max(0, int((draw - ANSWERS) / (1 - ANSWERS) * (indent + 1)))
            first = int(random.random() * (len(WRITINGS) - 1))
            yield Comment(
                id=story.id + number,
                author=_choose(random, AUTHORS),
                indent=indent,
                minute=int(random.random() * MINUTES_A_DAY),
                paragraphs=WRITINGS[first : first + 1 + (random.random() < TWO_PARAGRAPHS)],
            )
