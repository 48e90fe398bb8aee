"""`python -m workers.services.null.ceiling URL`: the most that one generator process can send.

A closed loop against the null server. The rate is that of a generator that is always busy: the
time that it waits for the null server does not count.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from workers.services.load.coordinator import GeneratorError, generate
from workers.services.load.options import parser, read_options
from workers.services.load.request import Request
from workers.services.load.summary import summarize
from workers.services.null.__main__ import MESSAGE_BYTES, TCP
from workers.services.serving import BODY_BYTES

WARMUP_S = 0.2


def main(arguments: Sequence[str]) -> int:
    """Load the null server, and print the figures as one line of JSON."""
    made = argparse.ArgumentParser(
        prog="python -m workers.services.null.ceiling",
        description="Measures the most that one process of the load generator can send.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("url", metavar="URL", help="URL of the null server")
    add("--connections", type=int, default=64, help="connections, each with a request (64)")
    add("--keep-alive", choices=("True", "False"), default="True", help="keep connections open")
    add("--response-bytes", type=BODY_BYTES, default=MESSAGE_BYTES, help="as the server's (256)")
    add("--seconds", type=float, default=1.0, help="seconds to count (1)")
    asked = made.parse_args(arguments)
    options = read_options(
        parser(),
        [
            *(asked.url, "--rate=max", f"--connections={asked.connections}"),
            *(f"--seconds={asked.seconds}", f"--warmup={WARMUP_S}"),
            *["--no-keepalive"] * (asked.keep_alive == "False"),
        ],
    )
    if urlsplit(asked.url).scheme == TCP:  # what is sent comes back
        options = replace(options, requests=[Request(body="x" * asked.response_bytes)])
    try:
        summary = summarize(*generate(options, None), histograms=False)
    except GeneratorError as error:
        made.exit(1, f"{made.prog}: {error}\n")
    if summary["errors"] or not summary["completed"]:
        made.exit(1, f"{made.prog}: not all requests were answered: {summary['errors']}\n")
    per_s = summary["rate_per_s"] / summary["busy_fraction"]
    figures = {
        "requests_per_s": round(per_s, 1),
        "mbytes_per_s": round(per_s * asked.response_bytes / 1e6, 1),
        "client_busy_fraction": round(summary["busy_fraction"], 3),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
