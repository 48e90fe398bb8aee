"""One generator process: `python -m workers.services.load.generator`, started by the coordinator.

It reads its part of the work as a line of JSON, connects, prints a line, reads when to send, sends,
and prints what it counted. When its standard input ends before that, so does it.
"""

import asyncio
import contextlib
import gc
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workers.host.open_files import raise_limit
from workers.services.load.arrivals import arrivals, share
from workers.services.load.closed_loop import ClosedLoop
from workers.services.load.connecting import ConnectionMaker, opener
from workers.services.load.echo_connection import EchoConnection
from workers.services.load.lane import Lane, Message
from workers.services.load.open_loop import OpenLoop
from workers.services.load.requests_list import Request, draw
from workers.services.load.tally import Tally
from workers.services.load.target import Target
from workers.services.load.time_slice import ask_for_slice
from workers.services.serving.ending import stop_requested
from workers.services.serving.loop import new_event_loop

CONNECTS_AT_A_TIME = 100
CHECKS_PER_TIMEOUT = 10  # a request is given up at most a tenth of the time-out late

type Report = dict[str, Any]  # see `send`


@dataclass(frozen=True)
class Part:
    """The part of the load that one process sends. `rate_per_s` is the whole load's, None: max."""

    targets: Sequence[Target]
    requests: Sequence[Request]
    rate_per_s: float | None
    arrivals: str
    connections: int  # of this process
    seed: int
    keepalive: bool
    timeout_s: float
    place: int
    of: int

    def document(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Part":
        """The part from its document."""
        targets = [Target(**each) for each in document["targets"]]
        requests = [Request(**each) for each in document["requests"]]
        return cls(**{**document, "targets": targets, "requests": requests})


def messages(part: Part, target: Target) -> list[Message]:
    """All requests as they are sent to a server."""
    if target.scheme == "tcp":
        return [Message(each.on_tcp(), None, is_head=False) for each in part.requests]
    return [
        Message(
            each.on_http(target.authority, target.path, keepalive=part.keepalive),
            each.status,
            is_head=each.method == "HEAD",
        )
        for each in part.requests
    ]


async def connected(part: Part) -> list[Lane]:
    """Make the lanes, dealt evenly over the servers, and connect them unless each request does.

    Raises:
        ConnectionError: a server cannot be reached; the message says which and why.
    """
    protocol: ConnectionMaker = EchoConnection if part.targets[0].scheme == "tcp" else http()
    kinds = [(messages(part, each), opener(protocol, each)) for each in part.targets]
    for target in part.targets:
        await probe(target, part.timeout_s)
    lanes = [
        Lane(*kinds[(part.place + number * part.of) % len(kinds)], keepalive=part.keepalive)
        for number in range(part.connections)
    ]
    if part.keepalive:
        for first in range(0, len(lanes), CONNECTS_AT_A_TIME):
            some = lanes[first : first + CONNECTS_AT_A_TIME]
            await asyncio.gather(*(lane.connect() for lane in some))
        missing = sum(lane.connection is None for lane in lanes)
        if missing:
            raise ConnectionError(f"{missing} of {len(lanes)} connections were refused")
    return lanes


def http() -> ConnectionMaker:
    """The protocol that needs a package besides the standard library."""
    from workers.services.load.http_connection import HttpConnection

    return HttpConnection


async def probe(target: Target, timeout_s: float) -> None:
    """Open a connection and close it.

    Raises:
        ConnectionError: it cannot be opened; the message is one line for the user.
    """
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(target.address, target.port)
    except TimeoutError:
        raise ConnectionError(f"{target.authority}: no connection within {timeout_s:g} s") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConnectionError(f"{target.authority}: {reason}") from None
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def send(part: Part, lanes: Sequence[Lane], begins_ns: int, instants_ns: list[int]) -> Report:
    """Send from `begins_ns` to the last instant (monotonic); return what was counted."""
    tally = Tally(instants_ns)
    pick = draw([each.weight for each in part.requests], f"{part.seed} {part.place}")
    sending: OpenLoop | ClosedLoop
    if part.rate_per_s is None:
        sending = ClosedLoop(pick, tally)
    else:
        offsets = arrivals(part.arrivals, part.rate_per_s, part.seed)
        offsets = share(offsets, part.arrivals, part.seed, part.place, part.of)
        sending = OpenLoop((begins_ns + offset for offset in offsets), pick, tally)
    for lane in lanes:
        lane.attach(tally, sending.freed)
    gc.collect()
    gc.freeze()
    giving_up = asyncio.create_task(give_up_late(lanes, part.timeout_s))
    await until(begins_ns)
    sending.begin(lanes)
    await until(tally.opens_ns)
    opened = (time.process_time_ns(), time.monotonic_ns())
    await until(tally.closes_ns)
    closed = (time.process_time_ns(), time.monotonic_ns())
    giving_up.cancel()
    sending.finish()
    for lane in lanes:
        lane.finish()
    return {
        "answered": tally.answered,
        "windows": [window.document() for window in tally.windows],
        "busy_fraction": (closed[0] - opened[0]) / (closed[1] - opened[1]),
        "timer": sending.timer_kind,
        "python": platform.python_version(),
        "gil": not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled(),
        "loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
    }


async def give_up_late(lanes: Sequence[Lane], timeout_s: float) -> None:
    """End every request that takes longer than the time-out, counted from its send."""
    while True:
        await asyncio.sleep(timeout_s / CHECKS_PER_TIMEOUT)
        late_ns = time.monotonic_ns() - int(timeout_s * 1e9)
        for lane in lanes:
            if lane.window and lane.sent_ns < late_ns:
                lane.give_up("timeout")


async def until(at_ns: int) -> None:
    """Sleep until a monotonic time, or a little longer."""
    left_ns = at_ns - time.monotonic_ns()
    while left_ns > 0:  # uvloop's timers may fire early
        await asyncio.sleep(max(left_ns / 1e9, 0.001))
        left_ns = at_ns - time.monotonic_ns()


async def generate() -> Report | None:
    """Do what standard input says; None where it ended before there was anything to do."""
    loop = asyncio.get_running_loop()

    async def line() -> Any:
        read = await loop.run_in_executor(None, sys.stdin.buffer.readline)
        return json.loads(read) if read else None

    if (document := await line()) is None:
        return None
    part = Part.read(document)
    slice_ns = ask_for_slice()
    lanes = await connected(part)
    print(json.dumps({"connections": len(lanes)}), flush=True)
    if (when := await line()) is None:
        return None
    ended = asyncio.create_task(stop_requested(until_eof=True).wait())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the coordinator, which ends this
    sending = asyncio.create_task(send(part, lanes, when["begins_ns"], when["instants_ns"]))
    await asyncio.wait([ended, sending], return_when=asyncio.FIRST_COMPLETED)
    return {**sending.result(), "slice_ns": slice_ns} if sending.done() else None


def main() -> int:
    """Generate; return the exit code (1: it could not, or was ended)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise_limit()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            report = runner.run(generate())
    except ConnectionError as error:
        print(json.dumps({"failed": str(error)}), flush=True)
        return 1
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed; get it with: pip install {error.name}"
        print(json.dumps({"failed": reason}), flush=True)
        return 1
    if report is None:
        return 1
    print(json.dumps(report), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
