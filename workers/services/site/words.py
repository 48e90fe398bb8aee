"""The texts of the news site: phrases, as text and as HTML.

They are full of `'`, `&`, `<`, `"`, dashes and accents, so that a parser that decodes them wrongly
returns another text, which the workload notices.
"""

import html
from typing import NamedTuple

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
