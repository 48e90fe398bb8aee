"""`python -m workers.site.ceiling URL`: how much the site can deliver at most.

A client that is cheaper than any scraper can be: connections that stay open, one request on its
way on each, and bodies that are counted, never kept or read. What it gets in a second is what
no scraper can exceed; it says how busy it was itself, since it may be the limit.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast
from urllib.parse import urlsplit

from workers.site.server import new_event_loop
from workers.site.stories import FIRST_ID, ID_STEP, PAGES, STORIES_PER_PAGE

CONNECTIONS = 32
LEAD_S = 0.2  # not counted: connections open, caches warm
BUFFER_BYTES = 262_144
END_OF_HEAD = b"\r\n\r\n"


class Count:
    """What all connections together have received."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.wrong = ""


class Fetcher(asyncio.BufferedProtocol):
    """One connection: asks for the next page as soon as the one before has come."""

    def __init__(self, addresses: Iterator[str], host: str, count: Count) -> None:
        self._addresses = addresses
        self._tail = f" HTTP/1.1\r\nHost: {host}\r\n\r\n"
        self._count = count
        self._buffer = bytearray(BUFFER_BYTES)
        self._head_bytes = 0  # of an answer's head that came so far
        self._left_bytes = 0  # of its body that is to come
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first page."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._ask()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Bodies overwrite each other; only a head in pieces is put together."""
        del sizehint
        return memoryview(self._buffer)[self._head_bytes :]

    def buffer_updated(self, nbytes: int) -> None:
        """Count what has come; ask again when the page is whole."""
        if self._left_bytes:
            self._left_bytes -= nbytes
        else:
            self._head_bytes += nbytes
            end = self._buffer.find(END_OF_HEAD, 0, self._head_bytes)
            if end < 0:
                return
            body_bytes = _content_length(bytes(self._buffer[:end]))
            if body_bytes is None:
                self._count.wrong = bytes(self._buffer[:80]).decode(errors="replace")
                self.close()
                return
            self._count.bytes += body_bytes
            self._left_bytes = end + len(END_OF_HEAD) + body_bytes - self._head_bytes
            self._head_bytes = 0
        if self._left_bytes == 0:
            self._count.requests += 1
            self._ask()

    def close(self) -> None:
        """Close the connection."""
        if self._transport:
            self._transport.close()

    def _ask(self) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(f"GET {next(self._addresses)}{self._tail}".encode())


def _content_length(head: bytes) -> int | None:
    """Return how many bytes follow a good answer's head, None for any other answer."""
    if not head.startswith(b"HTTP/1.1 200"):
        return None
    _, _, rest = head.lower().partition(b"content-length:")
    number = rest.split(b"\r\n", 1)[0].strip()
    return int(number) if number.isdigit() else None


def addresses(pages: int, start: int) -> Iterator[str]:
    """Go through the site as a scraper does, for ever: a list page, then its 30 stories."""
    page = start % pages
    while True:
        yield f"/news?p={page + 1}"
        for place in range(STORIES_PER_PAGE):
            yield f"/item?id={FIRST_ID + ID_STEP * (page * STORIES_PER_PAGE + place)}"
        page = (page + 1) % pages


async def load(urls: Sequence[str], pages: int, seconds: float) -> dict[str, float]:
    """Load the site for `seconds` after a short lead; rates are per second, MB are 10⁶ bytes.

    Raises:
        ConnectionError: it refuses, or answers something else than a page.
    """
    loop = asyncio.get_running_loop()
    count = Count()
    fetchers = []
    for number in range(CONNECTIONS):
        site = urlsplit(urls[number % len(urls)])
        fetch = partial(Fetcher, addresses(pages, number), site.netloc, count)
        _, fetcher = await loop.create_connection(fetch, site.hostname or "", site.port or 80)
        fetchers.append(fetcher)
    await asyncio.sleep(LEAD_S)
    begun = (time.monotonic(), time.process_time(), count.requests, count.bytes)
    await asyncio.sleep(seconds)
    ended = (time.monotonic(), time.process_time(), count.requests, count.bytes)
    for fetcher in fetchers:
        fetcher.close()
    await asyncio.sleep(0)
    if count.wrong or ended[2] == begun[2]:
        raise ConnectionError(f"the site answered {count.wrong!r}")
    passed_s, cpu_s, requests, received = (
        after - before for before, after in zip(begun, ended, strict=True)
    )
    return {
        "requests_per_s": round(requests / passed_s, 1),
        "mbytes_per_s": round(received / passed_s / 1e6, 1),
        "client_busy_fraction": round(cpu_s / passed_s, 3),
    }


def main(arguments: Sequence[str]) -> int:
    """Load the site and print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m workers.site.ceiling", description=__doc__)
    parser.add_argument("urls", nargs="+", metavar="URL", help="where the site is")
    parser.add_argument("--pages", type=int, default=PAGES, help=f"its list pages ({PAGES})")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to count (1)")
    options = parser.parse_args(arguments)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            figures = runner.run(load(options.urls, options.pages, options.seconds))
    except OSError as error:
        parser.exit(1, f"python -m workers.site.ceiling: {error}\n")
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
