"""What a worker does whose traffic goes on until it is stopped: warm up, take ticks, stop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.host.channel import Message
    from workers.loops.runners import Runtime, Traffic
    from workers.worker.meter import Meter
    from workers.worker.session import Session


async def measure_window(session: Session, runtime: Runtime, grace_s: float) -> Message:
    """Run traffic from the end of setup until the host says stop; tell when it was busy.

    Operations in flight have `grace_s` to end once told to stop.

    Raises:
        RuntimeError: the traffic ended before it was told to.
        Exception: whatever it raised.
    """
    busy_from_ns = time.monotonic_ns()
    traffic = runtime.start(session.workload.run(session.worker))
    try:
        session.phase = "warm-up"
        await traffic.beside(runtime.sleep(session.cell.warmup_s))
        order = await _ask(session, runtime, traffic, {"is": "ready"})
        session.phase = "window"
        await traffic.beside(_ticks(runtime, order["instants_ns"], session.meter))
        await _ask(session, runtime, traffic, {"is": "measured"})
        busy_until_ns = time.monotonic_ns()
        session.phase = "stop"
        session.worker.stop()
        await traffic.end(grace_s)
    except BaseException:
        session.worker.stop()
        await traffic.cancel(grace_s)
        raise
    return {"busy_from_ns": busy_from_ns, "busy_until_ns": busy_until_ns}


async def _ask(session: Session, runtime: Runtime, traffic: Traffic, message: Message) -> Message:
    session.channel.send(message)
    return await traffic.beside(runtime.receive(session.channel))


async def _ticks(runtime: Runtime, instants_ns: list[int], meter: Meter) -> None:
    opens_ns, closes_ns = instants_ns[0], instants_ns[-1]

    def tick(instant_ns: int) -> None:
        if instant_ns == opens_ns:
            meter.open(instant_ns)
        elif instant_ns == closes_ns:
            meter.close(instant_ns)
        else:
            meter.tick(instant_ns)

    await runtime.take_ticks(instants_ns, tick)
