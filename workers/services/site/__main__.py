"""`python -m workers.services.site`: serve the news site, for a study or to try it."""

from collections.abc import Sequence
from functools import partial

from workers.services.serving import (
    COUNT,
    Serving,
    read_options,
    run_program,
    serve,
    server_parser,
)
from workers.services.site.stories import PAGES, News


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = server_parser(
        "workers.services.site",
        "A deterministic news site with the structure of Hacker News, for scraping.",
        delay_ms=0.0,
    )
    seed_help = "seed that the pages are generated from (1)"
    parser.add_argument("--seed", type=int, default=1, help=seed_help)
    pages_help = f"number of list pages, 30 stories each ({PAGES})"
    parser.add_argument("--pages", type=COUNT, default=PAGES, help=pages_help)
    options = read_options(parser, arguments)

    def make() -> Serving:
        from workers.services.site.pages import Shelf, serving

        shelf = Shelf(News(options.seed, options.pages))
        shelf.fill()
        return partial(serving, shelf, delay_s=options.delay_ms / 1_000)

    welcome = "Serving news at {}/news"
    return serve(parser, options, make, own=("seed", "pages"), welcome=welcome)


if __name__ == "__main__":
    run_program(main)
