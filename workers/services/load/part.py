"""The part of one generator process: of the load, and of the schedule.

The schedule is absolute and the same for a seed however many processes send. Due times are offsets
in ns from its start; they are drawn one by one and never stored.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast

from workers.services.load.lane import Message, Opening
from workers.services.load.request import Request
from workers.services.load.targets import Target

ARRIVALS = ("poisson", "constant")
NS_PER_S = 1e9


class Overload(NamedTuple):
    """A stretch of the measurement with `factor` times the rate; `after_s` from its start."""

    factor: float
    after_s: float
    lasts_s: float


def arrivals(kind: str, rate_per_s: float, seed: int) -> Iterator[int]:
    """Offsets at which requests are due, without end.

    `poisson`: independent exponential gaps, drawn from `seed`. `constant`: equal gaps.
    """
    return _poisson(rate_per_s, seed) if kind == "poisson" else _constant(rate_per_s)


def dealt(offsets: Iterator[int], kind: str, seed: int, place: int, of: int) -> Iterator[int]:
    """The part of a schedule that process `place` (from 0) out of `of` sends.

    Equal gaps are dealt in turn. Poisson arrivals are dealt at random, so that each part is a
    Poisson process itself (splitting).
    """
    if of == 1:
        return offsets
    if kind == "constant":
        return (offset for turn, offset in enumerate(offsets) if turn % of == place)
    owner = random.Random(f"owner {seed}").randrange
    return (offset for offset in offsets if owner(of) == place)


def overloaded(offsets: Iterator[int], overload: Overload, opens_ns: int) -> Iterator[int]:
    """The schedule with an overload in the measurement that begins at `opens_ns`.

    Time is compressed there, so Poisson arrivals stay a Poisson process (time change), and any part
    of a schedule can be overloaded by itself.
    """
    begins_ns = opens_ns + int(overload.after_s * NS_PER_S)
    lasts_ns = int(overload.lasts_s * NS_PER_S)
    compressed_ns = int(lasts_ns * overload.factor)
    for offset in offsets:
        passed_ns = offset - begins_ns
        if passed_ns < 0:
            yield offset
        elif passed_ns < compressed_ns:
            yield begins_ns + int(passed_ns / overload.factor)
        else:
            yield offset - compressed_ns + lasts_ns


def _poisson(rate_per_s: float, seed: int) -> Iterator[int]:
    gap_s = random.Random(seed).expovariate
    at_s = 0.0
    while True:
        at_s += gap_s(rate_per_s)
        yield int(at_s * 1e9)


def _constant(rate_per_s: float) -> Iterator[int]:
    turn = 0
    while True:
        yield int(turn * 1e9 / rate_per_s)
        turn += 1


# --------------------------------------------------------------------------------------------- part
# The document that goes from the coordinator to a process.


@dataclass(frozen=True)
class Load:
    """A load. `rate_per_s` None: a closed loop."""

    targets: Sequence[Target]
    requests: Sequence[Request]
    rate_per_s: float | None
    overload: Overload | None
    arrivals: str
    connections: int
    seed: int
    keepalive: bool
    timeout_s: float
    processes: int = 1
    slices: bool = False


@dataclass(frozen=True)
class Part(Load):
    """The part of process `place` (from 0) of `processes`; `connections` are its own."""

    place: int = 0

    def document(self) -> dict[str, Any]:
        """The part as a JSON document."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Part":
        """The part from its document."""
        targets = [Target(**each) for each in document["targets"]]
        requests = [Request(**each) for each in document["requests"]]
        found = document["overload"]
        overload = Overload(*found) if found else None
        return cls(**{**document, "targets": targets, "requests": requests, "overload": overload})


def messages(part: Part, target: Target) -> list[Message]:
    """All requests as they are sent to a server."""
    return [message_of(each, target, keepalive=part.keepalive) for each in part.requests]


def message_of(request: Request, target: Target, *, keepalive: bool, kept: bool = False) -> Message:
    """A request as it is sent to a server; its answer is `kept`, or if something of it is saved."""
    if target.scheme == "tcp":
        return Message(request.on_tcp(), None, is_head=False)
    common: dict[str, Any] = {
        "closes": request.closes,
        "kept": kept or bool(request.save),
        "place": request.place if request.line else "",
    }
    if request.websocket is None:
        return Message(
            request.on_http(target.authority, target.path, keepalive=keepalive),
            request.status,
            is_head=request.method == "HEAD",
            declined=request.declined,
            **common,
        )
    receive = request.receive
    texts = [] if isinstance(receive, int) else [each.encode() for each in receive]
    headers = tuple(
        (name, value) for name, value in request.headers.items() if name.lower() != "connection"
    )
    return Message(
        b"",
        None,
        is_head=False,
        opening=Opening(
            target.authority, request.websocket, headers, len(texts) or cast(int, receive)
        ),
        sends=[each.encode() for each in request.send],
        texts=texts,
        **common,
    )
