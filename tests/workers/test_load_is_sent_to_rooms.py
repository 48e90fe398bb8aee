"""The generator's rooms by themselves: what a member notices, and where connections come from."""

import asyncio
import re
import socket
from typing import cast

import pytest

from workers.services.load import rooms as of_rooms
from workers.services.load.arrivals import KINDS
from workers.services.load.options import parser, read_options, with_targets
from workers.services.load.part import Part
from workers.services.load.requests_list import Request
from workers.services.load.rooms import Room, SourceAddresses, drained, joined
from workers.services.load.subscribing import Published
from workers.services.load.tally import Tally
from workers.services.load.target import BadInputError, Target

FAR_NS = 1 << 62


class Wire:
    """Takes what is published; `deliver` says in which order members get it."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def publish(self, path: str, message: bytes, published: Published) -> None:
        del path, published
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
    for due_ns in range(1, sent):
        room.send(0, due_ns, tally.take(due_ns))
    room.send(0, 0, None)
    for member, numbers in zip(room.members, orders, strict=True):
        for number in numbers:
            member.received(wire.messages[number])
    room.finish()
    (window,) = tally.windows
    unfinished = window.offered - window.completed - window.errors.total()
    assert unfinished == sum((window.censored.document() or {"count": []})["count"])
    return {"good": window.completed, "unfinished": unfinished, **window.errors}


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ([0, 1, 2, 3], {"good": 3, "unfinished": 0}),
        ([0, 2, 3], {"good": 2, "unfinished": 0, "lost": 1}),
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


def test_members_of_a_connection_that_is_gone_have_its_error() -> None:
    room = Room("/rooms/0", Request(body="x" * 20))
    room.publisher = Wire()
    room.members = [of_rooms.Member(room)]
    tally = Tally([0, FAR_NS])
    room.attach(tally, lambda _: None)
    room.send(0, 1, tally.take(1))
    room.members[0].lost("reset")
    asyncio.run(drained([room]))  # does not wait for it
    room.finish()
    assert tally.windows[0].errors == {"reset": 1}


def test_connections_come_from_other_addresses_once_ports_are_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_rooms, "ports_here", lambda: 2)
    came: list[str] = []

    class Stream(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast(asyncio.Transport, transport)
            came.append(transport.get_extra_info("peername")[0])

        def data_received(self, data: bytes) -> None:
            if data.startswith(b"GET"):
                event = b"data: joined\n\n"
                self.transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                self.transport.write(b"%x\r\n%s\r\n" % (len(event), event))

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Stream, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        target = Target("sse", "127.0.0.1", port, f"127.0.0.1:{port}", "/")
        request = Request(path="/rooms", body="x" * 20, room=5)
        part = Part([target], [request], 1.0, None, KINDS[0], 5, 1, True, 5.0, 0, 1)
        (room,) = await joined(part)
        room.attach(Tally([0, 1]), lambda _: None)
        room.send(0, 0, None)
        room.finish()
        server.close()
        await asyncio.sleep(0.01)  # connections close in the loop's next iterations

    asyncio.run(run())
    assert came.count("127.0.0.2") == 2
    assert came.count("127.0.0.3") == 1
    assert SourceAddresses(1).next(Target("ws", "::1", 80, "[::1]:80", "/")) == ""


@pytest.mark.parametrize(
    ("options", "asked", "said"),
    [
        (["--rate=max"], 1, "messages to rooms need a --rate"),
        (["--rate=5"], 7, "64 connections of 1 processes cannot be in rooms of 7"),
        (["--rate=5", "--processes=3"], 32, "cannot be in rooms of 32"),
    ],
)
def test_a_load_that_cannot_be_sent_to_rooms_is_refused(
    options: list[str], asked: int, said: str
) -> None:
    read = read_options(parser(), ["-", "--instants", *options])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"ws://127.0.0.1:{listening.getsockname()[1]}/rooms"
        with pytest.raises(BadInputError, match=re.escape(said)):
            with_targets(read, [url], [Request(room=asked)])
