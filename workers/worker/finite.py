"""What a worker does whose work is finite: wait for the release that is everybody's, do it all.

A worker that is done keeps what it holds until the host says stop, so that memory can be read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.host.channel import Message
    from workers.loops.runners import Runtime
    from workers.worker.session import Session


class FiniteRun:
    """One worker's work, from the release that the host ordered to its finish."""

    def __init__(self, session: Session, order: Message) -> None:
        self._life = session
        self._released_ns: int = order["released_ns"]
        self._started_ns = self._finished_ns = 0

    @property
    def wait_s(self) -> float:
        """Seconds left until the release; 0 or less once it has come."""
        return (self._released_ns - time.monotonic_ns()) / 1e9

    def start(self) -> None:
        """Take the opening tick: the first operation can begin."""
        self._life.phase = "work"
        self._life.meter.open(self._released_ns)
        self._started_ns = time.monotonic_ns()

    def finish(self) -> None:
        """Take the closing tick, and tell the host."""
        self._finished_ns = self._life.meter.close(None)
        self._life.phase = "stop"
        self._life.channel.send({"is": "measured", "finished_ns": self._finished_ns})

    def told(self) -> Message:
        """Tell when all this was, for the record."""
        return {
            "busy_from_ns": self._started_ns,
            "busy_until_ns": self._finished_ns,
            "released_ns": self._released_ns,
            "started_ns": self._started_ns,
            "finished_ns": self._finished_ns,
        }


async def measure_work(session: Session, runtime: Runtime) -> Message:
    """Run a finite workload on its loop, waiting for the release by the loop's own clock.

    It runs in the life's own task, as it would in a script. Raises whatever it raises.
    """
    session.channel.send({"is": "ready"})
    finite_run = FiniteRun(session, await runtime.receive(session.channel))
    while (wait_s := finite_run.wait_s) > 0:  # again if a timer fires early, as uvloop's may
        await runtime.sleep(wait_s)
    finite_run.start()
    await session.workload.run(session.worker)
    finite_run.finish()
    await runtime.receive(session.channel)
    return finite_run.told()


def measure_work_alone(session: Session) -> Message:
    """Call the work of a workload that makes loops, where none runs. Raises whatever it raises."""
    session.channel.send({"is": "ready"})
    finite_run = FiniteRun(session, session.channel.receive())
    while (wait_s := finite_run.wait_s) > 0:
        time.sleep(wait_s)
    finite_run.start()
    session.workload.work(session.worker)
    finite_run.finish()
    session.channel.receive()
    return finite_run.told()
