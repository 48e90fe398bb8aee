"""`python -m workers.services.null`: answer every request alike."""

import argparse
from collections.abc import Sequence
from functools import partial

from workers.services.null.server import (
    MESSAGE_BYTES,
    TCP,
    http_answer,
    serving,
    tcp_message,
)
from workers.services.serving import read_options, run_program, serve, server_parser

BODY_MOST_BYTES = 1 << 30


def body_bytes(text: str) -> int:
    """Parse the size of an answer's body."""
    if not 0 <= (number := int(text)) <= BODY_MOST_BYTES:
        raise argparse.ArgumentTypeError(f"expected 0 to {BODY_MOST_BYTES}, got {text}")
    return number


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    module = "workers.services.null"
    parser = server_parser(module, "Gives every request the same answer.", delay_ms=None)
    add = parser.add_argument
    add("--server", default="http", help=f"{TCP}: length-prefixed TCP; anything else: HTTP (http)")
    size_help = f"bytes in the body of each answer ({MESSAGE_BYTES})"
    add("--response-bytes", type=body_bytes, default=MESSAGE_BYTES, help=size_help)
    options = read_options(parser, arguments)
    on_tcp = options.server == TCP
    answer = (tcp_message if on_tcp else http_answer)(options.response_bytes)
    serving_it = partial(serving, answer, TCP if on_tcp else "http")
    own = ("server", "response_bytes")
    return serve(parser, options, lambda: serving_it, own=own, welcome="Serving at {}")


if __name__ == "__main__":
    run_program(main)
