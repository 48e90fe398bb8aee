"""Measuring a finite workload: wait for the release that all workers share, then do all the work.

A finished worker keeps its objects until the host says stop, so that memory can be read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.host.channel import Message
    from workers.loops.runners import Runner
    from workers.worker.session import Session


class FiniteRun:
    """The run of one worker, from the release that the host ordered to its finish."""

    def __init__(self, session: Session, order: Message) -> None:
        self._session = session
        self._released_ns: int = order["released_ns"]
        self._started_ns = self._finished_ns = 0

    @property
    def wait_s(self) -> float:
        """Seconds until the release; 0 or less once it has passed."""
        return (self._released_ns - time.monotonic_ns()) / 1e9

    def start(self) -> None:
        """Take the first tick; the first operation may begin."""
        self._session.phase = "work"
        self._session.meter.open(self._released_ns)
        self._started_ns = time.monotonic_ns()

    def finish(self) -> None:
        """Take the last tick, and notify the host."""
        self._finished_ns = self._session.meter.close(None)
        self._session.phase = "stop"
        self._session.channel.send({"is": "measured", "finished_ns": self._finished_ns})

    def times(self) -> Message:
        """Return the instants of the run for the record, monotonic ns."""
        return {
            "busy_from_ns": self._started_ns,
            "busy_until_ns": self._finished_ns,
            "released_ns": self._released_ns,
            "started_ns": self._started_ns,
            "finished_ns": self._finished_ns,
        }


async def measure_finite(session: Session, runner: Runner) -> Message:
    """Measure a finite workload on its loop; the loop's own clock waits for the release.

    It runs in the session's task, as it would in a script. Raises whatever the workload raises.
    """
    session.channel.send(session.ready)
    finite_run = FiniteRun(session, await runner.receive(session.channel))
    while (wait_s := finite_run.wait_s) > 0:  # again if a timer fires early, as uvloop's may
        await runner.sleep(wait_s)
    finite_run.start()
    await session.workload.run(session.worker)
    finite_run.finish()
    await runner.receive(session.channel)
    return finite_run.times()


def measure_without_loop(session: Session) -> Message:
    """Measure a workload that makes its own loops, where none runs. Raises whatever it raises."""
    session.channel.send(session.ready)
    finite_run = FiniteRun(session, session.channel.receive())
    while (wait_s := finite_run.wait_s) > 0:
        time.sleep(wait_s)
    finite_run.start()
    session.workload.work(session.worker)
    finite_run.finish()
    session.channel.receive()
    return finite_run.times()
