"""`python -m workers.services.responder.ceiling URL`: what the responder can deliver at most."""

import itertools
import sys
from collections.abc import Iterator, Sequence

from workers.services.serving.ceiling import ceiling_parser, tell

ANSWERS_PER_S = 100_000  # one process gives half of that on the machines of 2026


def addresses(connection: int) -> Iterator[str]:
    """Ask as `fetch` does, never for the same twice."""
    return (f"/?id={connection}-{number}" for number in itertools.count())


def main(arguments: Sequence[str]) -> int:
    """Load the responder and print the figures as one line of JSON."""
    parser = ceiling_parser(
        "workers.services.responder.ceiling", "How much the responder can deliver at most."
    )
    return tell(parser, parser.parse_args(arguments), addresses, per_s=ANSWERS_PER_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
