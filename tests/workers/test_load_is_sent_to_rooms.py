"""The generator's rooms by themselves: what a member notices, and where connections come from."""

import asyncio
import re
import socket
import time
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workers.services.load import rooms as of_rooms
from workers.services.load.options import parser, read_options, with_targets
from workers.services.load.part import ARRIVALS, Part
from workers.services.load.request import Request
from workers.services.load.rooms import Room, SourceAddresses, drained, joined
from workers.services.load.subscribing import Posts, Sent
from workers.services.load.tally import Distribution, Tally
from workers.services.load.targets import BadInputError, Target

pytestmark = pytest.mark.one_build

FAR_NS = 1 << 62
LATE_NS = 10**10
WAIT_S = 0.02


class Wire:
    """Takes what is published; `deliver` says in which order members get it."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def publish(self, path: str, message: bytes, published: Sent) -> None:
        del path
        published.sent_ns = time.monotonic_ns()
        self.messages.append(message)

    def abort(self) -> None:
        """There is nothing to close."""


def settled(*orders: list[int], sent: int = 4) -> dict[str, int]:
    """What a room counts where each member receives these numbers; the last is the closing one."""
    room, wire = Room("/rooms/0", Request(body="x" * 20)), Wire()
    room.publisher = wire
    room.members = [of_rooms.Member(room) for _ in orders]
    tally = Tally([0, FAR_NS])
    room.attach(tally, lambda _: None)
    begun_ns = time.monotonic_ns() - LATE_NS
    for due_ns in range(begun_ns + 1, begun_ns + sent):
        room.send(0, due_ns, tally.take(due_ns))
    room.send(0, 0, None)
    for member, numbers in zip(room.members, orders, strict=True):
        for number in numbers:
            member.received(wire.messages[number])
    room.finish()
    (window,) = tally.windows
    taken = window.latency.document() or {"value_ns": []}
    assert all(each > 0.9 * LATE_NS for each in taken["value_ns"])  # from the due time
    unfinished = window.offered - window.completed - window.errors.total()
    assert unfinished == sum((window.censored.document() or {"count": []})["count"])
    return {"good": window.completed, "unfinished": unfinished, **window.errors}


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ([0, 1, 2, 3], {"good": 3, "unfinished": 0}),
        ([3], {"good": 0, "unfinished": 0, "lost": 3}),
        ([0, 1, 1, 2, 3], {"good": 2, "unfinished": 0, "doubled": 1}),
        ([0, 2, 1, 3], {"good": 2, "unfinished": 0, "reordered": 1}),
        ([0, 1], {"good": 2, "unfinished": 1}),  # what comes after the window is in flight
        ([0, 2], {"good": 2, "unfinished": 0, "lost": 1}),
    ],
)
def test_a_member_notices_what_is_lost_doubled_or_reordered(
    second: list[int], found: dict[str, int]
) -> None:
    assert settled([0, 1, 2, 3], second) == found


class Stream(asyncio.Protocol):
    """A server's side of an event stream, which notes who asks for which room."""

    def __init__(self, server: int, asked: list[tuple[str, int, str]]) -> None:
        self._server, self._asked = server, asked

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            _, path, _ = data.decode().split(" ", 2)
            address = self._transport.get_extra_info("peername")[0]
            self._asked.append((path, self._server, address))
            event = b"data: joined\n\n"
            self._transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            self._transport.write(b"%x\r\n%s\r\n" % (len(event), event))


def members(*, servers: int, place: int, connections: int) -> list[tuple[str, int, str]]:
    """The room, server and address of each member of one of two processes, in rooms of five."""
    asked: list[tuple[str, int, str]] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        running, targets = [], []
        for number in range(servers):
            made = await loop.create_server(partial(Stream, number, asked), "127.0.0.1", 0)
            port = made.sockets[0].getsockname()[1]
            running.append(made)
            targets.append(Target("sse", "127.0.0.1", port, f"127.0.0.1:{port}", "/"))
        request = Request(path="/rooms", body="x" * 20, room=5)
        part = Part(
            targets, [request], 1.0, None, ARRIVALS[0], connections, 1, True, 5.0, 2, place=place
        )
        for room in await joined(part):
            room.attach(Tally([0, 1]), lambda _: None)
            room.send(0, 0, None)
            room.finish()
        for made in running:
            made.close()
        await asyncio.sleep(0.01)  # connections close in the loop's next iterations

    asyncio.run(run())
    return asked


def test_every_room_has_members_on_all_servers_from_however_many_processes() -> None:
    found = [each for place in (0, 1) for each in members(servers=2, place=place, connections=10)]
    on = Counter((path, server) for path, server, _ in found)
    assert on.keys() == {(f"/rooms/{n}", server) for n in range(4) for server in (0, 1)}
    assert Counter(server for _, server, _ in found) == {0: 10, 1: 10}


def test_members_of_a_connection_that_is_gone_have_its_error() -> None:
    room = Room("/rooms/0", Request(body="x" * 20))
    room.publisher, room.members = Wire(), [of_rooms.Member(room)]
    tally = Tally([0, FAR_NS])
    room.attach(tally, lambda _: None)
    room.send(0, 1, tally.take(1))
    room.members[0].lost("reset")
    asyncio.run(drained([room]))  # does not wait for it
    room.finish()
    assert tally.windows[0].errors == {"reset": 1}


def test_slip_of_a_message_that_waits_ends_when_it_is_sent() -> None:
    """Behind a request that is not answered yet, as `Posts` are sent one by one."""

    async def run() -> tuple[Tally, list[int]]:
        posts = Posts(Target("sse", "127.0.0.1", 9, "127.0.0.1:9", "/"))
        went: list[bytes] = []
        posts.connection = cast(Any, SimpleNamespace(send=went.append, abort=lambda: None))
        room = Room("/rooms/0", Request(body="x" * 20))
        room.publisher = posts
        room.members = [of_rooms.Member(room)]
        first_ns = time.monotonic_ns()
        tally = Tally([first_ns, FAR_NS])
        room.attach(tally, lambda _: None)
        sent_ns = []
        for _ in range(3):
            room.send(0, first_ns, tally.take(first_ns))
            sent_ns.append(room.sent_ns)
        await asyncio.sleep(WAIT_S)
        posts.answered("")
        room.send(0, 0, None)
        assert len(went) == 2
        room.finish()
        return tally, sent_ns

    tally, sent_ns = asyncio.run(run())
    assert [each > 0 for each in sent_ns] == [True, False, False]
    slip = Distribution([tally.windows[0].slip.document()])
    assert slip.n == 2  # that of the first is the open loop's to record
    assert (slip.quantile_ms(0.5) or 0) > WAIT_S * 900  # 0.4 % is the width of a bucket


def test_connections_come_from_other_addresses_once_ports_are_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_rooms, "ports_here", lambda: 4)  # two for each process
    came = [address for _, _, address in members(servers=1, place=0, connections=5)]
    assert came.count("127.0.0.2") == 2
    assert came.count("127.0.0.3") == 1
    assert SourceAddresses(1).next(Target("ws", "::1", 80, "[::1]:80", "/")) == ""


@pytest.mark.parametrize(
    ("options", "asked", "said"),
    [
        (["--rate=max"], Request(), "messages to rooms need a --rate"),
        (["--rate=5"], Request(room=7), "64 connections cannot be in rooms of 7"),
        (
            ["--rate=5", "--processes=3"],
            Request(room=32),
            "3 processes need a room each: 64 connections in rooms of 32 are too few",
        ),
        (["--rate=5"], Request(room=32, stalled=3), "stalled=3 needs as many rooms"),
    ],
)
def test_a_load_that_cannot_be_sent_to_rooms_is_refused(
    options: list[str], asked: Request, said: str
) -> None:
    read = read_options(parser(), ["-", "--instants", *options])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"ws://127.0.0.1:{listening.getsockname()[1]}/rooms"
        with pytest.raises(BadInputError, match=re.escape(said)):
            with_targets(read, [url], [asked])
