"""`python -m workers.services.responder.ceiling URL`: the most that the responder can deliver."""

import itertools
import sys
from collections.abc import Iterator, Sequence

from workers.services.ceiling import ceiling_parser, print_ceiling

ANSWERS_PER_S = 100_000  # twice what one process delivers on machines of 2026


def addresses(connection: int) -> Iterator[str]:
    """Request distinct addresses, as `fetch` does."""
    return (f"/?id={connection}-{number}" for number in itertools.count())


def main(arguments: Sequence[str]) -> int:
    """Load the responder, and print the figures as one line of JSON."""
    parser = ceiling_parser(
        "workers.services.responder.ceiling", "Measures the most that the responder can deliver."
    )
    return print_ceiling(parser, parser.parse_args(arguments), addresses, per_s=ANSWERS_PER_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
