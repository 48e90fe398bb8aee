"""Measuring a windowed workload: warm up, take ticks in the window or in its slices, stop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.host.channel import Message
    from workers.loops.runners import Runner, Traffic
    from workers.worker.meter import Meter
    from workers.worker.session import Session


async def measure_window(session: Session, runner: Runner, grace_s: float) -> Message:
    """Run traffic from the end of setup until the host says stop; return when it was busy.

    Operations in flight at the stop have `grace_s` to end.

    Raises:
        RuntimeError: the traffic ended before the stop.
        Exception: whatever the traffic raised.
    """
    busy_from_ns = time.monotonic_ns()
    traffic = runner.start(session.workload.run(session.worker))
    try:
        session.phase = "warm-up"
        if not session.workload.served:  # the load generator warms that up, before the window
            await traffic.beside(runner.sleep(session.cell.warmup_s))
        order = await _ask(session, runner, traffic, session.ready)
        while order["do"] == "measure":  # the window, or one slice of it after the other
            session.phase = "window"
            late_ns = await traffic.beside(_ticks(runner, order["instants_ns"], session.meter))
            order = await _ask(session, runner, traffic, {"is": "measured", "late_ns": late_ns})
        busy_until_ns = time.monotonic_ns()
        session.phase = "stop"
        session.worker.stop()
        await traffic.end(grace_s)
    except BaseException:
        session.worker.stop()
        await traffic.cancel(grace_s)
        raise
    return {"busy_from_ns": busy_from_ns, "busy_until_ns": busy_until_ns}


async def _ask(session: Session, runner: Runner, traffic: Traffic, message: Message) -> Message:
    session.channel.send(message)
    return await traffic.beside(runner.receive(session.channel))


async def _ticks(runner: Runner, instants_ns: list[int], meter: Meter) -> int:
    """Take a tick at each instant; return how late the last one was, ns."""
    opens_ns, closes_ns = instants_ns[0], instants_ns[-1]
    late_ns = 0

    def tick(instant_ns: int) -> None:
        nonlocal late_ns
        if instant_ns == opens_ns:
            meter.open(instant_ns)
        elif instant_ns == closes_ns:
            late_ns = meter.close(instant_ns) - instant_ns
        else:
            meter.tick(instant_ns)

    await runner.take_ticks(instants_ns, tick)
    return late_ns
