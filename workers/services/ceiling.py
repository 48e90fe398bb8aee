"""The ceiling of a service: the most that it can deliver.

This client is cheaper than any workload: connections stay open, each has one request in flight, and
bodies are counted, not kept. No workload can exceed the rate that it gets. It also reports how
busy it was itself, since it may be the limit.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast
from urllib.parse import urlsplit

from workers.services.serving import DELAY_MS, new_event_loop
from workers.system import raise_limit

CONNECTIONS = 32  # per URL, plus as many as the server's delay keeps waiting
CONNECTIONS_MOST = 4_000
LEAD_S = 0.2  # warm-up, not counted
BUFFER_BYTES = 65_536
END_OF_HEAD = b"\r\n\r\n"

type Addresses = Callable[[int], Iterator[str]]  # what each connection requests, by its number


class Count:
    """The totals of all connections."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.wrong = ""


class Fetcher(asyncio.BufferedProtocol):
    """One connection; it requests the next page as soon as it has received the last one."""

    def __init__(self, addresses: Iterator[str], host: str, count: Count) -> None:
        self._addresses = addresses
        self._tail = f" HTTP/1.1\r\nHost: {host}\r\n\r\n"
        self._count = count
        self._buffer = bytearray(BUFFER_BYTES)
        self._head_bytes = 0  # received so far of an incomplete head
        self._left_bytes = 0  # of the body, not received yet
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer: bodies overwrite each other, only an incomplete head is kept."""
        return memoryview(self._buffer)[self._head_bytes :]

    def buffer_updated(self, nbytes: int) -> None:
        """Count what was received; send the next request when the page is complete."""
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
            self.ask()

    def close(self) -> None:
        """Close the connection."""
        if self._transport:
            self._transport.close()

    def ask(self) -> None:
        """Request the next page."""
        if self._transport and not self._transport.is_closing():
            self._transport.write(f"GET {next(self._addresses)}{self._tail}".encode())


def _content_length(head: bytes) -> int | None:
    """Return the body's size in bytes; None if the status is not 200 or the size is missing."""
    if not head.startswith(b"HTTP/1.1 200"):
        return None
    _, _, rest = head.lower().partition(b"content-length:")
    number = rest.split(b"\r\n", 1)[0].strip()
    return int(number) if number.isdigit() else None


def connections_for(delay_s: float, per_s: float) -> int:
    """Number of connections needed to get `per_s` answers per second from one process.

    By Little's law a server that waits `delay_s` has `per_s * delay_s` requests waiting.
    """
    return min(CONNECTIONS + round(per_s * delay_s), CONNECTIONS_MOST)


async def load(
    urls: Sequence[str], addresses: Addresses, connections: int, seconds: float, delay_s: float
) -> dict[str, float]:
    """Load the servers for `seconds` after a warm-up; return rates per second (MB: 10⁶ bytes).

    `connections` is per URL. Answers come in waves `delay_s` apart, so it counts for at least that.

    Raises:
        ConnectionError: a server refuses connections, or answers anything but a page.
    """
    loop = asyncio.get_running_loop()
    count = Count()
    fetchers = []
    for number in range(connections * len(urls)):
        server = urlsplit(urls[number % len(urls)])
        fetch = partial(Fetcher, addresses(number), server.netloc, count)
        _, fetcher = await loop.create_connection(fetch, server.hostname or "", server.port or 80)
        fetchers.append(fetcher)
    for fetcher in fetchers:  # once all are connected: answers would delay connecting
        fetcher.ask()
    await asyncio.sleep(LEAD_S + delay_s)
    begun = (time.monotonic(), time.process_time(), count.requests, count.bytes)
    await asyncio.sleep(max(seconds, delay_s))
    ended = (time.monotonic(), time.process_time(), count.requests, count.bytes)
    for fetcher in fetchers:
        fetcher.close()
    await asyncio.sleep(0)
    if count.wrong or ended[2] == begun[2]:
        raise ConnectionError(f"the server answered {count.wrong!r}")
    passed_s, cpu_s, requests, received = (
        after - before for before, after in zip(begun, ended, strict=True)
    )
    return {
        "requests_per_s": round(requests / passed_s, 1),
        "mbytes_per_s": round(received / passed_s / 1e6, 1),
        "client_busy_fraction": round(cpu_s / passed_s, 3),
    }


def ceiling_parser(module: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of `python -m MODULE`; a service's ceiling adds its own options."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("urls", nargs="+", metavar="URL", help="URL of the server")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds to count (1)")
    delay_help = "the delay that the server was started with, ms (0)"
    parser.add_argument("--delay-ms", type=DELAY_MS, default=0.0, help=delay_help)
    return parser


def print_ceiling(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    addresses: Addresses,
    *,
    per_s: float,
) -> int:
    """Load the servers, and print the figures as one line of JSON.

    `per_s` is a rate that one server process cannot exceed on any machine.
    """
    raise_limit()
    delay_s = options.delay_ms / 1_000
    loading = load(
        options.urls, addresses, connections_for(delay_s, per_s), options.seconds, delay_s
    )
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            figures = runner.run(loading)
    except OSError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    print(json.dumps(figures))
    return 0
