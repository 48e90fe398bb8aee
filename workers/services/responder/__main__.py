"""`python -m workers.services.responder`: serve answers, for a study or to try it."""

import argparse
from collections.abc import Sequence
from functools import partial

from workers.services.responder.server import serving
from workers.services.serving import read_options, run_program, serve, server_parser

BODY_BYTES = 1_024
BODY_MOST_BYTES = 1 << 30
DELAY_MS = 10.0
SPREAD_MOST = 3.0


def _size(text: str) -> int:
    if not 0 <= (number := int(text)) <= BODY_MOST_BYTES:
        raise argparse.ArgumentTypeError(f"expected 0 to {BODY_MOST_BYTES}, got {text}")
    return number


def _spread(text: str) -> float:
    if not 0 <= (number := float(text)) <= SPREAD_MOST:  # also refuses nan
        raise argparse.ArgumentTypeError(f"expected 0 to {SPREAD_MOST:g}, got {text}")
    return number


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = server_parser(
        "workers.services.responder",
        "Answers every GET after a delay.",
        delay_ms=DELAY_MS,
    )
    size_help = f"bytes in the body of each answer ({BODY_BYTES:,})"
    parser.add_argument("--body-bytes", type=_size, default=BODY_BYTES, help=size_help)
    spread_help = (
        "standard deviation of the delay's logarithm: delays are log-normal, --delay-ms is "
        "their median; 0: all are equal (0)"
    )
    parser.add_argument("--delay-spread", type=_spread, default=0.0, help=spread_help)
    options = read_options(parser, arguments)
    serving_it = partial(
        serving,
        bytes(options.body_bytes),
        delay_s=options.delay_ms / 1_000,
        spread=options.delay_spread,
    )
    own, welcome = ("body_bytes", "delay_spread"), "Serving at {}"
    return serve(parser, options, lambda: serving_it, own=own, welcome=welcome)


if __name__ == "__main__":
    run_program(main)
