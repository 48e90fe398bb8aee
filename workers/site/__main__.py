"""`python -m workers.site`: serve the news on its own, for a study or for anyone to try.

Prints one line of JSON, `{"urls": [...], "pid": ...}`, when it really answers.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence

from workers.site.ending import told_to_end
from workers.site.family import serve_together
from workers.site.listening import listen
from workers.site.shelf import Shelf
from workers.site.stories import PAGES, News

PORT_MOST = 65_535


def _options(arguments: Sequence[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        prog="python -m workers.site",
        description="A deterministic news site with the structure of Hacker News, for scraping.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--seed", type=int, default=1, help="what the pages are made from (default: 1)")
    add("--pages", type=_count, default=PAGES, help=f"list pages, 30 stories each ({PAGES})")
    add("--delay-ms", type=_delay, default=0.0, help="wait before every answer, ms (0)")
    add("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    add("--port", type=_port, default=0, help="port; 0: the system chooses (0)")
    add("--processes", type=_count, default=1, help="processes, a port each (1)")
    add("--until-eof", action="store_true", help="end when standard input ends")
    options = parser.parse_args(arguments)
    if options.port and options.port + options.processes - 1 > PORT_MOST:
        parser.error(f"--port {options.port}: no room for {options.processes} ports from there")
    return parser, options


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text}")
    return number


def _port(text: str) -> int:
    if not 0 <= (number := int(text)) <= PORT_MOST:
        raise argparse.ArgumentTypeError(f"expected 0 to {PORT_MOST}, got {text}")
    return number


def _delay(text: str) -> float:
    if not 0 <= (number := float(text)) <= 60_000:  # nan is refused too
        raise argparse.ArgumentTypeError(f"expected 0 to 60000 ms, got {text}")
    return number


def _announce(urls: list[str], *, to_a_person: bool) -> None:
    print(json.dumps({"urls": urls, "pid": os.getpid()}), flush=True)
    if to_a_person:
        places = " and ".join(f"{url}/news" for url in urls)
        print(f"The news is at {places}; Ctrl-C ends it.", file=sys.stderr, flush=True)


def _serve_alone(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        listening = listen(options.host, options.port)
    except OSError as error:
        parser.error(f"cannot listen on {options.host}, port {options.port}: {error.strerror}")
    try:
        from workers.site.server import new_event_loop, serving
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: it needs aiohttp ({error})\n")
    shelf = Shelf(News(options.seed, options.pages))
    shelf.fill()

    async def serve() -> int:
        told = told_to_end(until_eof=options.until_eof)
        async with serving(shelf, listening, options.delay_ms / 1_000) as url:
            _announce([url], to_a_person=not options.until_eof)
            await told.wait()
        return 0

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(serve())


def _serve_together(options: argparse.Namespace) -> int:
    first = options.port
    command = [
        f"--seed={options.seed}",
        f"--pages={options.pages}",
        f"--delay-ms={options.delay_ms}",
        f"--host={options.host}",
    ]
    ports = [first + place if first else 0 for place in range(options.processes)]

    def announce(urls: list[str]) -> None:
        _announce(urls, to_a_person=not options.until_eof)

    return asyncio.run(serve_together(command, ports, announce, until_eof=options.until_eof))


def main(arguments: Sequence[str]) -> int:
    """Serve until told to end; return the exit code (2: bad option, 1: it could not go on)."""
    parser, options = _options(arguments)
    return _serve_together(options) if options.processes > 1 else _serve_alone(parser, options)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before the site could listen for it
        sys.exit(0)
    except BrokenPipeError:  # nobody is there any more to be told where it is
        os._exit(0)
