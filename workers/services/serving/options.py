"""The command-line options that every service has."""

import argparse
from collections.abc import Sequence

from workers.cell import LOOPBACK

PORT_MOST = 65_535
DELAY_MOST_MS = 60_000


def server_parser(
    module: str, description: str, *, delay_ms: float | None
) -> argparse.ArgumentParser:
    """Make the parser of `python -m MODULE`; a service adds its own options.

    `delay_ms` is the default of its delay; None: it never waits.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, allow_abbrev=False
    )
    add = parser.add_argument
    if delay_ms is not None:
        delay_help = f"delay before an answer, ms ({delay_ms:g})"
        add("--delay-ms", type=delay, default=delay_ms, help=delay_help)
    add("--host", default=LOOPBACK, help=f"address to listen on ({LOOPBACK})")
    add("--port", type=_port, default=0, help="port; 0: any free one (0)")
    add(
        "--processes", type=count, default=1, help="number of processes, each with its own port (1)"
    )
    add("--until-eof", action="store_true", help="end when standard input ends")
    return parser


def read_options(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; a bad one ends the program with exit code 2."""
    options = parser.parse_args(arguments)
    if options.port and options.port + options.processes - 1 > PORT_MOST:
        parser.error(
            f"--port {options.port}: {options.processes} ports from there end above {PORT_MOST}"
        )
    return options


def count(text: str) -> int:
    """Parse a number, at least 1."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return number


def delay(text: str) -> float:
    """Parse a delay in ms."""
    if not 0 <= (number := float(text)) <= DELAY_MOST_MS:  # also refuses nan
        raise argparse.ArgumentTypeError(f"expected 0 to {DELAY_MOST_MS} ms, got {text}")
    return number


def _port(text: str) -> int:
    if not 0 <= (number := int(text)) <= PORT_MOST:
        raise argparse.ArgumentTypeError(f"expected 0 to {PORT_MOST}, got {text}")
    return number
