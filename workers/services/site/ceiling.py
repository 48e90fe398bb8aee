"""`python -m workers.services.site.ceiling URL`: the most that the site can deliver."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial

from workers.services.serving.ceiling import ceiling_parser, print_ceiling
from workers.services.serving.program import count
from workers.services.site.stories import FIRST_ID, ID_STEP, PAGES, STORIES_PER_PAGE

PAGES_PER_S = 20_000  # twice what one process delivers on machines of 2026


def addresses(pages: int, start: int) -> Iterator[str]:
    """Go round the site endlessly, as a scraper does: a list page, then its 30 stories."""
    page = start % pages
    while True:
        yield f"/news?p={page + 1}"
        for place in range(STORIES_PER_PAGE):
            yield f"/item?id={FIRST_ID + ID_STEP * (page * STORIES_PER_PAGE + place)}"
        page = (page + 1) % pages


def main(arguments: Sequence[str]) -> int:
    """Load the site, and print the figures as one line of JSON."""
    parser = ceiling_parser(
        "workers.services.site.ceiling", "Measures the most that the site can deliver."
    )
    pages_help = f"number of list pages of the site ({PAGES})"
    parser.add_argument("--pages", type=count, default=PAGES, help=pages_help)
    options = parser.parse_args(arguments)
    return print_ceiling(parser, options, partial(addresses, options.pages), per_s=PAGES_PER_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
