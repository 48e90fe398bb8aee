"""The responder gives every GET the same answer, never before its delay, under any load."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import (
    environment,
    fetch,
    last_words,
    ready,
    responder_command,
    running_responder,
    start,
)
from workers.services.responder.server import HEAD_MOST_BYTES, answer_with, serving
from workers.services.serving.listening import listen
from workers.services.serving.program import new_event_loop

pytestmark = pytest.mark.one_build

LOOPS = pytest.mark.parametrize("factory", [asyncio.new_event_loop, new_event_loop])
ASK = b"GET /?id=%d HTTP/1.1\r\nHost: here\r\n\r\n"
ANSWER = answer_with(bytes(100))

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def connected(delay_s: float, connections: int = 1) -> AsyncIterator[list[Streams]]:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(bytes(100), listen("127.0.0.1", 0), delay_s) as url,
    ):
        at = urlsplit(url)
        streams = [await asyncio.open_connection(at.hostname, at.port) for _ in range(connections)]
        yield streams
        for _, writer in streams:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def run(factory: Callable[[], asyncio.AbstractEventLoop], coroutine: Awaitable[None]) -> None:
    async def main() -> None:
        await coroutine

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())


@pytest.mark.slow
def test_an_answer_is_whole_and_says_how_long_it_is() -> None:
    with running_responder("--body-bytes=1000") as url:
        status, headers, body = fetch(f"{url}/anything?id=7")
        assert (status, headers["Content-Length"], len(body)) == (200, "1000", 1000)
        assert fetch(url, "POST")[0] == 405


@pytest.mark.slow
@LOOPS
def test_no_answer_comes_early_and_none_waits_for_another(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    delay_s, connections = 0.05, 400

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
        began = time.monotonic()
        writer.write(ASK % 1)
        assert await reader.readexactly(len(ANSWER)) == ANSWER
        answered = time.monotonic()
        assert answered - began >= delay_s
        return answered

    async def all_at_once() -> None:
        async with connected(delay_s, connections) as streams:
            answered = sorted(await asyncio.gather(*(once(*each) for each in streams)))
            # One by one, each would come a whole delay after the one before it.
            apart_s = [late - early for early, late in pairwise(answered)]
            assert sum(each >= delay_s for each in apart_s) < connections / 4

    run(factory, all_at_once())


@LOOPS
def test_requests_in_pieces_and_several_in_one(
    factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def in_pieces() -> None:
        async with connected(0.002) as [(reader, writer)]:
            writer.write((ASK % 1)[:-3])
            await asyncio.sleep(0.01)
            writer.write((ASK % 1)[-3:] + ASK % 2 + b"POST" + (ASK % 3)[3:])
            whole = await reader.readexactly(2 * len(ANSWER))
            assert whole == 2 * ANSWER
            assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")

    run(factory, in_pieces())


def test_a_head_without_end_is_not_collected_for_ever() -> None:
    async def endless() -> None:
        async with connected(0.0) as [(reader, writer)]:
            writer.write(b"GET /" + b"x" * 2 * HEAD_MOST_BYTES)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""

    run(asyncio.new_event_loop, endless())


@pytest.mark.slow
def test_several_processes_have_a_port_each() -> None:
    with start("--until-eof", "--processes=2", command=responder_command) as responder:
        urls = ready(responder)["urls"]
        assert len(set(urls)) == 2
        assert {fetch(url)[0] for url in urls} == {200}
        assert last_words(responder) == ""


@pytest.mark.measures
def test_its_ceiling_is_its_own_and_not_its_delays() -> None:
    """32 connections get no more than 640 answers a second from a server that waits for 50 ms."""
    with running_responder("--delay-ms=50", "--body-bytes=1000") as url:
        done = subprocess.run(
            [
                *(sys.executable, "-W", "error", "-m", "workers.services.responder.ceiling", url),
                *("--seconds=2", "--delay-ms=50"),  # a machine may stall it for one of them
            ],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE_S,
        )
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    assert figures["requests_per_s"] > 640
    assert figures["mbytes_per_s"] * 1e6 / figures["requests_per_s"] == pytest.approx(1000, rel=0.1)
