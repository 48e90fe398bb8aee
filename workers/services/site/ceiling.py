"""`python -m workers.services.site.ceiling URL`: the most that the site can deliver."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

from workers.services.ceiling import ceiling_parser, print_ceiling
from workers.services.serving import COUNT
from workers.services.site.stories import FIRST_ID, ID_STEP, PAGES, STORIES_PER_PAGE

PAGES_PER_S = 20_000  # twice what one process delivers on machines of 2026


def addresses(pages: int) -> Iterator[str]:
    """The whole site, as a scraper reads it: each list page, then its 30 stories."""
    for page in range(pages):
        yield f"/news?p={page + 1}"
        for place in range(STORIES_PER_PAGE):
            yield f"/item?id={FIRST_ID + ID_STEP * (page * STORIES_PER_PAGE + place)}"


def from_place(every: Sequence[str], start: int) -> Iterator[str]:
    """Go round addresses endlessly. Each connection starts at another page, and at another place of
    it: a list page has half the bytes of a story, and a short count must not see these alone.
    """
    for place in count(start * STORIES_PER_PAGE):
        yield every[place % len(every)]


def main(arguments: Sequence[str]) -> int:
    """Load the site, and print the figures as one line of JSON."""
    parser = ceiling_parser(
        "workers.services.site.ceiling", "Measures the most that the site can deliver."
    )
    pages_help = f"number of list pages of the site ({PAGES})"
    parser.add_argument("--pages", type=COUNT, default=PAGES, help=pages_help)
    options = parser.parse_args(arguments)
    every = tuple(addresses(options.pages))
    return print_ceiling(parser, options, partial(from_place, every), per_s=PAGES_PER_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
