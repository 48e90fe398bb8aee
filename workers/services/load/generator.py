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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workers.services.load.lane import (
    CONNECTS_AT_A_TIME,
    ConnectionMaker,
    EchoConnection,
    Lane,
    opener,
    probe,
)
from workers.services.load.part import Part, arrivals, dealt, messages, overloaded
from workers.services.load.requests_list import draw
from workers.services.load.sending import ClosedLoop, OpenLoop, ask_for_slice, early_ns
from workers.services.load.sequence import is_sequence
from workers.services.load.tally import Tally
from workers.services.load.targets import ROOMS
from workers.services.serving import new_event_loop, read_input, stop_requested, until
from workers.system import raise_limit

if TYPE_CHECKING:
    from workers.services.load.rooms import Room

INSTALL = "pip install httptools uvloop websockets"
STDOUT = 1
LINE_MOST_BYTES = 2**30  # a line holds the whole list of requests
LATER_NS = 1 << 62  # when a slice is that is not known yet
DRAIN_S = 0.001  # between looks at whether all is answered
CHECKS_PER_TIMEOUT = 10  # a request is given up at most a tenth of the time-out late

type Report = dict[str, Any]  # see `send`


async def send(part: Part, lanes: Sequence[Lane], begins_ns: int, instants_ns: list[int]) -> Report:
    """Send from `begins_ns` to the last instant (monotonic); return what was counted."""
    tally = Tally(instants_ns, _background(part))
    sending: OpenLoop | ClosedLoop
    if part.rate_per_s is None:
        sending = ClosedLoop(_picking(part), tally)
    else:
        sending = _open_loop(part, part.rate_per_s, tally, begins_ns)
    for lane in lanes:
        lane.attach(tally, sending.freed)
    gc.collect()
    gc.freeze()
    giving_up = asyncio.create_task(give_up_late(lanes, part.timeout_s))
    await until(begins_ns)
    sending.begin(lanes)
    used = await used_in(tally)
    giving_up.cancel()
    sending.finish()
    for lane in lanes:
        lane.finish()
    return report_of(tally, used, sending.timer_kind)


async def send_to_rooms(
    part: Part, rooms: "Sequence[Room]", begins_ns: int, instants_ns: list[int]
) -> Report:
    """Publish from `begins_ns` to the last instant (monotonic); return what was counted."""
    from workers.services.load.rooms import drained

    assert part.rate_per_s
    tally = Tally(instants_ns)
    sending = _open_loop(part, part.rate_per_s, tally, begins_ns)
    for room in rooms:
        room.attach(tally, sending.freed)
    gc.collect()
    gc.freeze()
    await until(begins_ns)
    sending.begin(rooms)
    await until(tally.opens_ns)
    before = sum(room.delivered for room in rooms)
    used = await used_in(tally)
    after = sum(room.delivered for room in rooms)
    sending.finish()
    await drained(rooms)
    for room in rooms:
        room.finish()
    delivered_per_s = (after - before) * 1e9 / used[1]
    found = {"delivered_per_s": delivered_per_s, "rooms": len(rooms)}
    return {**report_of(tally, used, sending.timer_kind), **found}


def _open_loop(part: Part, rate_per_s: float, tally: Tally, begins_ns: int) -> OpenLoop:
    """The loop that sends this process's part of the schedule."""
    offsets = arrivals(part.arrivals, rate_per_s, part.seed)
    offsets = dealt(offsets, part.arrivals, part.seed, part.place, part.processes)
    most_per_s = rate_per_s
    if part.overload:
        offsets = overloaded(offsets, part.overload, tally.opens_ns - begins_ns)
        most_per_s *= part.overload.factor
    due_ns = (begins_ns + offset for offset in offsets)
    return OpenLoop(due_ns, _picking(part), tally, early_ns=early_ns(most_per_s / part.processes))


async def used_in(tally: Tally) -> tuple[int, int]:
    """Wait for the end of the last window; ns of CPU time and of time since the first opened."""
    await until(tally.opens_ns)
    opened = (time.process_time_ns(), time.monotonic_ns())
    await until(tally.closes_ns)
    closed = (time.process_time_ns(), time.monotonic_ns())
    return closed[0] - opened[0], max(1, closed[1] - opened[1])


def report_of(tally: Tally, used_ns: tuple[int, int], timer_kind: str | None) -> Report:
    """The counts as a report; `used_ns` are CPU time and time."""
    cpu_ns, passed_ns = used_ns
    return {
        "answered": tally.answered,
        "windows": [window.document() for window in tally.windows],
        "busy_fraction": cpu_ns / passed_ns,
        "cpu_s": cpu_ns / 1e9,
        "passed_s": passed_ns / 1e9,
        "timer": timer_kind,
        "python": platform.python_version(),
        "gil": not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled(),
        "loop": type(asyncio.get_running_loop()).__module__.partition(".")[0],
    }


async def send_slices(part: Part, lanes: Sequence[Lane], stdin: asyncio.StreamReader) -> Report:
    """Send a slice for each line that asks for one; return the counts of all slices.

    Once all lanes are busy a second line says when the slice is; one without `counts` is a warm-up.
    After it all that is in flight is answered, and lanes stay open.
    """
    pick = _picking(part)
    reports = []
    gc.collect()
    gc.freeze()
    giving_up = asyncio.create_task(give_up_late(lanes, part.timeout_s))
    while json.loads(await stdin.readline()):
        tally = Tally([LATER_NS, LATER_NS + 1], _background(part), drains=True)
        sending = ClosedLoop(pick, tally)
        for lane in lanes:
            lane.attach(tally, sending.freed)
        sending.begin(lanes)
        write_line({"sending": len(lanes)})
        when = json.loads(await stdin.readline())
        tally.fix(when["instants_ns"])
        used = await used_in(tally)
        await drained(lanes)
        report = report_of(tally, used, sending.timer_kind)
        if when["counts"]:
            reports.append(report)
        write_line({"sent": report["answered"]})
    giving_up.cancel()
    for lane in lanes:
        lane.finish()
    if not reports:
        raise ConnectionError("no slice was sent")
    cpu_s, passed_s = (sum(each[name] for each in reports) for name in ("cpu_s", "passed_s"))
    return {
        **reports[0],
        "answered": sum(each["answered"] for each in reports),
        "windows": [window for each in reports for window in each["windows"]],
        "busy_fraction": cpu_s / passed_s,
        "cpu_s": cpu_s,
        "passed_s": passed_s,
    }


def _background(part: Part) -> list[int]:
    return [place for place, each in enumerate(part.requests) if each.background]


def _picking(part: Part) -> Callable[[], int]:
    return draw([each.weight for each in part.requests], f"{part.seed} {part.place}")


async def give_up_late(lanes: Sequence[Lane], timeout_s: float) -> None:
    """End every request that takes longer than the time-out, counted from its send, or from the
    last message of a WebSocket.
    """
    while True:
        await asyncio.sleep(timeout_s / CHECKS_PER_TIMEOUT)
        late_ns = time.monotonic_ns() - int(timeout_s * 1e9)
        for lane in lanes:
            if lane.window and lane.heard_ns < late_ns:
                lane.give_up(lane.late_kind)


async def drained(lanes: Sequence[Lane]) -> None:
    """Wait until no request is in flight; an event would cost each answer time."""
    while True:
        if not any(lane.window for lane in lanes):
            return
        await asyncio.sleep(DRAIN_S)


async def connected(part: Part) -> list[Lane]:
    """Make the lanes, dealt evenly over the servers, and connect them unless each request does.

    Raises:
        ConnectionError: a server cannot be reached; the message says which and why.
    """
    make = _lane_maker(part)
    for target in part.targets:
        await probe(target, part.timeout_s)
    lanes = [
        make((part.place + number * part.processes) % len(part.targets))
        for number in range(part.connections)
    ]
    if part.keepalive:
        for first in range(0, len(lanes), CONNECTS_AT_A_TIME):
            some = lanes[first : first + CONNECTS_AT_A_TIME]
            opening = [asyncio.ensure_future(lane.connect()) for lane in some]
            await asyncio.wait(opening, timeout=part.timeout_s)
            # A path that is no WebSocket is an error of each request.
            missing = sum(not (lane.connection or lane.message.opening) for lane in some)
            if missing:
                raise ConnectionError(
                    f"{missing} of {len(lanes)} connections were refused or not accepted within "
                    f"{part.timeout_s:g} s"
                )
    return lanes


def _lane_maker(part: Part) -> Callable[[int], Lane]:
    """Return the function that makes a lane to the server at a position."""
    if part.targets[0].scheme == "tcp":
        protocol: ConnectionMaker = EchoConnection
    else:
        protocol = http(websockets=any(each.websocket for each in part.requests))
    opening = [opener(protocol, each) for each in part.targets]
    if is_sequence(part.requests):
        from workers.services.load.in_order import InOrder

        return lambda at: InOrder(
            part.requests, part.targets[at], opening[at], keepalive=part.keepalive
        )
    prepared = [messages(part, each) for each in part.targets]
    return lambda at: Lane(prepared[at], opening[at], keepalive=part.keepalive)


def http(*, websockets: bool = False) -> ConnectionMaker:
    """The protocols that need packages besides the standard library."""
    from workers.services.load.http_connection import HttpConnection

    if not websockets:
        return HttpConnection
    from workers.services.load.websocket_connection import WebSocketConnection

    return lambda lane: (WebSocketConnection if lane.message.opening else HttpConnection)(lane)


async def generate() -> Report | None:
    """Send the part on standard input, whose end ends the process; None if asked to stop."""
    stdin = read_stdin()
    with contextlib.suppress(ModuleNotFoundError):  # `connected` says so, if it is needed
        http()
    part = Part.read(json.loads(await stdin.readline()))
    slice_ns = ask_for_slice()
    lanes, rooms = [], []
    if part.targets[0].scheme in ROOMS:
        from workers.services.load.rooms import joined

        rooms = await joined(part)
    else:
        lanes = await connected(part)
    write_line({"connections": part.connections})
    requested = stop_requested(until_eof=False, signals=(signal.SIGTERM,))
    ended = asyncio.create_task(requested.wait())
    if part.slices:
        sending = asyncio.create_task(send_slices(part, lanes, stdin))
    else:
        when = json.loads(await stdin.readline())
        begins_ns, instants_ns = when["begins_ns"], when["instants_ns"]
        window = begins_ns, instants_ns
        run = send_to_rooms(part, rooms, *window) if rooms else send(part, lanes, *window)
        sending = asyncio.create_task(run)
    await asyncio.wait([ended, sending], return_when=asyncio.FIRST_COMPLETED)
    if not sending.done():
        return None
    secrets = sorted({each for lane in lanes for each in lane.secrets})
    return {**sending.result(), "slice_ns": slice_ns, "secrets": secrets}


def read_stdin() -> asyncio.StreamReader:
    """Read standard input from now on, for the running loop; its end ends the process at once.

    It is read by a thread, so the end is noticed also while connections are being opened.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_MOST_BYTES, loop=loop)

    def take(data: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(reader.feed_data, data)

    read_input(take, lambda: os._exit(1))  # the process that wanted the result is gone
    return reader


def write_line(document: dict[str, Any]) -> None:
    """Print for the coordinator; without it, end at once.

    Not by `print`: with PYTHONUNBUFFERED that loses the rest where the system takes only a part of
    a line into a pipe, as it does after uvloop has run.
    """
    left = json.dumps(document).encode() + b"\n"
    try:
        while left:
            left = left[os.write(STDOUT, left) :]
    except BrokenPipeError:
        os._exit(1)


def main() -> int:
    """Generate; return the exit code (1: it could not, or was ended)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the coordinator, which ends this
    raise_limit()
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            report = runner.run(generate())
    except ConnectionError as error:
        write_line({"failed": str(error)})
        return 1
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed; get it with: {INSTALL}"
        write_line({"failed": reason})
        return 1
    if report is None:
        return 1
    write_line(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
