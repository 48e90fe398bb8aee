"""Rooms of long-lived connections: messages are published to a room, and all members receive them.

A message of a room has the next number, and one member publishes all of them, so each member
should receive every number once, in order. The latency of a message is the time until the last of
the members has it. Members that are `stalled` stop reading once they have joined; nobody waits for
them.
"""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence

from workers.services.load.lane import CONNECTS_AT_A_TIME, probe
from workers.services.load.part import Part
from workers.services.load.request import Request
from workers.services.load.sending import WAITING
from workers.services.load.subscribing import (
    SUBSCRIBERS,
    Posts,
    Publisher,
    Sent,
    Subscriber,
    WebSocket,
)
from workers.services.load.tally import Tally, Window
from workers.services.load.targets import Target

LOST, DOUBLED, REORDERED = "lost", "doubled", "reordered"
NUMBER = 10  # digits at the start of a message
LOOK_S = 0.005  # between looks at whether all members have the last message
DRAIN_S = 2.0  # limit for what is under way when the window closes
WEBSOCKET = "ws"
POSTS = 16  # connections to a server that publish, where members cannot
BIND_WITHOUT_PORT = 24  # IP_BIND_ADDRESS_NO_PORT: the port is chosen with the other end, on Linux
PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
PORTS_UNKNOWN = 10_000
PORTS_USED = 0.9  # of those; the rest is for all else
LOOPBACK, ADDRESSES = "127.", 250  # 127.0.0.1 to 127.0.0.250, then from 127.0.1.1 on
STALLED_BUFFER_BYTES = 4_096  # that the system keeps for a connection that is not read


class Member:
    """A member that reads; `missing` are the numbers that later ones have overtaken."""

    __slots__ = ("expects", "gone", "missing", "room")

    def __init__(self, room: "Room") -> None:
        self.room = room
        self.expects = 0
        self.missing: set[int] = set()
        self.gone = ""

    def received(self, message: bytes) -> None:
        """Note that a message has come."""
        number = int(message[:NUMBER])
        room = self.room
        sent = room.sent[number]
        if number == self.expects:
            self.expects = number + 1
        elif number > self.expects:
            self.missing.update(range(self.expects, number))
            self.expects = number + 1
        elif number in self.missing:
            self.missing.remove(number)
            sent.error = REORDERED
        else:
            sent.error = DOUBLED
            return
        room.delivered += 1
        sent.left -= 1
        if not sent.left:
            sent.done_ns = time.monotonic_ns()

    def lost(self, kind: str) -> None:
        """The connection is gone."""
        if not self.gone:
            self.gone = kind
            self.room.gone += 1


class Room:
    """The members of a room and what was published there.

    To the loop that sends it is a lane that is always free.
    """

    def __init__(self, path: str, request: Request) -> None:
        self.path = path
        self.members: list[Member] = []
        self.sent: list[Sent] = []
        self.sent_ns = 0
        self.delivered = 0
        self.gone = 0  # members that lost their connection
        self.publisher: Publisher | None = None
        self.publishers: list[WebSocket] = []  # one of which can be it
        self._connections: list[Subscriber] = []
        self._rest = request.body[NUMBER:].encode()
        self._tally: Tally | None = None
        self._freed: Callable[[Room], None] | None = None

    async def join(self, target: Target, source: str, *, stalls: bool) -> None:
        """Add a member, connected to a server from an address (empty: the usual one).

        Raises:
            OSError: it is refused.
        """
        member = Member(self)
        made = SUBSCRIBERS[target.scheme](
            target,
            self.path,
            (lambda _: None) if stalls else member.received,
            (lambda _: None) if stalls else member.lost,
        )
        opened = await _opened(target, source, stalls=stalls)
        await asyncio.get_running_loop().create_connection(lambda: made, sock=opened)
        await made.joined
        self._connections.append(made)
        if stalls:
            made.stall()
            return
        self.members.append(member)
        if isinstance(made, WebSocket):
            self.publishers.append(made)

    def attach(self, tally: Tally, freed: "Callable[[Room], None]") -> None:
        """Settle messages in a tally; `freed` is called when the next one can be sent."""
        self._tally = tally
        self._freed = freed

    def send(self, position: int, due_ns: int, window: Window | None) -> None:
        """Publish a message."""
        assert self.publisher
        sent = Sent(due_ns, window, len(self.members))
        self.sent.append(sent)
        number = len(self.sent) - 1
        self.publisher.publish(self.path, b"%0*d%s" % (NUMBER, number, self._rest), sent)
        self.sent_ns = sent.sent_ns or WAITING
        sent.waited = not sent.sent_ns
        if self._freed and window:
            self._freed(self)

    @property
    def has_last(self) -> bool:
        """True if all members whose connection is open have the last message."""
        return self.sent[-1].left <= self.gone

    def finish(self) -> None:
        """Settle all messages but the last, which only shows that nothing is under way; close."""
        assert self._tally
        last = len(self.sent) - 1
        for member in self.members:
            for number in member.missing:
                self.sent[number].error = LOST
            if member.gone:
                for number in range(member.expects, last):
                    self.sent[number].error = member.gone
        for sent in self.sent[:-1]:
            assert sent.window
            if sent.waited:
                closes_ns = self._tally.closes_ns
                left_ns = min(sent.sent_ns or closes_ns, closes_ns)
                sent.window.slip.record(left_ns - sent.due_ns)
            if sent.left and not sent.error:
                self._tally.censor(sent.window, sent.due_ns)
            else:
                done_ns = sent.sent_ns if sent.error else sent.done_ns
                times = sent.due_ns, sent.sent_ns, done_ns
                self._tally.settle(sent.window, *times, sent.error)
        for connection in self._connections:
            connection.abort()
        if self.publisher:
            self.publisher.abort()


class SourceAddresses:
    """Source addresses of connections: the next one of this machine once one has no port left.

    The system gives out a port once for each pair of addresses and port at the other end.
    """

    def __init__(self, ports: int) -> None:
        self._ports = ports
        self._made: Counter[tuple[str, int]] = Counter()

    def next(self, target: Target) -> str:
        """The address that a connection to a server comes from; empty: the system's choice."""
        key = target.address, target.port
        number = self._made[key] // self._ports
        self._made[key] += 1
        if not (number and target.address.startswith(LOOPBACK)):
            return ""
        return f"{LOOPBACK}0.{number // ADDRESSES}.{1 + number % ADDRESSES}"


def ports_here() -> int:
    """The number of connections that this machine can make from one address to one port."""
    try:
        with open(PORT_RANGE) as file:
            first, last = map(int, file.read().split())
    except OSError:
        return PORTS_UNKNOWN
    return max(1, int((last - first + 1) * PORTS_USED))


async def joined(part: Part) -> list[Room]:
    """Make the rooms of this process and connect their members, dealt evenly over the servers.

    Raises:
        ConnectionError: a server cannot be reached; the message says which and why.
    """
    (request,) = part.requests
    servers = part.targets
    sources = SourceAddresses(max(1, ports_here() // part.processes))  # all processes use the same
    for target in servers:
        await probe(target, part.timeout_s)
    rooms = [
        Room(f"{request.path}/{number}", request)
        for number in range(
            part.place, part.processes * part.connections // request.room, part.processes
        )
    ]
    joining: list[tuple[Room, Target, bool]] = []  # and whether it stalls
    for number, room in enumerate(rooms):
        for seat in range(request.room):
            at = (part.place + number * request.room + seat) % len(servers)
            is_last = seat == request.room - 1
            stalls = is_last and part.place + number * part.processes < request.stalled
            joining.append((room, servers[at], stalls))
    for first in range(0, len(joining), CONNECTS_AT_A_TIME):
        some = joining[first : first + CONNECTS_AT_A_TIME]
        opening = [
            room.join(target, sources.next(target), stalls=stalls) for room, target, stalls in some
        ]
        try:
            async with asyncio.timeout(part.timeout_s):
                await asyncio.gather(*opening)
        except (TimeoutError, OSError) as error:
            raise ConnectionError(
                f"{first:,} of {len(joining):,} members joined their rooms, and the next "
                f"{len(some)} did not: {str(error) or f'no answer within {part.timeout_s:g} s'}"
            ) from None
    await _have_publishers(rooms, servers)
    return rooms


async def _have_publishers(rooms: Sequence[Room], servers: Sequence[Target]) -> None:
    """Give each room a publisher, on one server after the other; a WebSocket is a member's own."""
    places = [] if servers[0].scheme == WEBSOCKET else ([*servers] * POSTS)[: len(rooms)]
    posts = [Posts(each) for each in places]
    await asyncio.gather(*(each.connect() for each in posts))
    for number, room in enumerate(rooms):
        if posts:
            room.publisher = posts[number % len(posts)]
        else:
            server = servers[number % len(servers)]
            theirs = [each for each in room.publishers if each.target == server]
            room.publisher = (theirs or room.publishers)[0]


async def _opened(target: Target, source: str, *, stalls: bool) -> socket.socket:
    """A connection to a server from an address, if one is given."""
    made = socket.socket(
        socket.AF_INET6 if ":" in target.address else socket.AF_INET,
        socket.SOCK_STREAM,
        socket.IPPROTO_TCP,
    )
    try:
        made.setblocking(False)
        if stalls:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STALLED_BUFFER_BYTES)
        if source:
            made.setsockopt(socket.IPPROTO_IP, BIND_WITHOUT_PORT, 1)
            made.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(made, (target.address, target.port))
    except BaseException:
        made.close()
        raise
    return made


async def drained(rooms: Sequence[Room]) -> None:
    """Publish a last message to each room and wait until all members have it, within a limit.

    On a connection it comes after all others.
    """
    for room in rooms:
        room.send(0, 0, None)
    ends_s = time.monotonic() + DRAIN_S
    while True:
        if all(room.has_last for room in rooms) or time.monotonic() > ends_s:
            return
        await asyncio.sleep(LOOK_S)
