"""The measurement of finite work: a fixed amount, done at once or in rounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from workers.channel import Channel, Message
    from workers.loops.libraries import Runner
    from workers.worker.handle import Worker
    from workers.worker.meter import Meter
    from workers.worker.workload import Workload

    class Session(Protocol):
        """The part of a session that is needed here; its file imports this one."""

        phase: str
        channel: Channel
        workload: Workload
        worker: Worker
        meter: Meter

        @property
        def ready(self) -> Message:
            """The message that this worker can begin."""


def parts_of(workload: Workload) -> int:
    """The number of parts that a finite workload can do one after the other, in rounds."""
    rounds = workload.rounds
    if rounds is None:
        return 1
    return int(-(-getattr(workload, rounds.amount) // getattr(workload, rounds.part)))


class FiniteRun:
    """The run of one worker, in one round or several: each from its release to its finish."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parts = parts_of(session.workload)
        self._parts_done = 0
        rounds = session.workload.rounds
        self._left = getattr(session.workload, rounds.amount) if rounds else 0
        self._released_ns = self._finished_ns = 0
        self._first: tuple[int, int] | None = None  # release and start of the first round

    def order(self, order: Message) -> None:
        """Prepare for a round: `share_done` is of all work, after it."""
        self._released_ns = order["released_ns"]
        workload = self._session.workload
        if workload.rounds is None:
            return
        done = round(order["share_done"] * self._parts)
        most = (done - self._parts_done) * getattr(workload, workload.rounds.part)
        amount = min(most, self._left)
        setattr(workload, workload.rounds.amount, amount)
        self._parts_done, self._left = done, self._left - amount

    @property
    def has_work(self) -> bool:
        """True if this worker has anything to do in this round: others may have more parts."""
        rounds = self._session.workload.rounds
        return rounds is None or getattr(self._session.workload, rounds.amount) > 0

    @property
    def wait_s(self) -> float:
        """Seconds until the release; 0 or less once it has passed."""
        return (self._released_ns - time.monotonic_ns()) / 1e9

    def start(self) -> None:
        """Take the first tick, or go on from the last one; operations may begin."""
        self._session.phase = "work"
        self._session.meter.open(self._released_ns, from_instant=True)
        self._first = self._first or (self._released_ns, time.monotonic_ns())

    def finish(self) -> None:
        """Take the tick that ends the round, and notify the host."""
        self._finished_ns = self._session.meter.close(None)
        self._session.phase = "stop"
        self._session.channel.send({"is": "measured", "finished_ns": self._finished_ns})

    def times(self) -> Message:
        """The first release and start and the last finish, monotonic ns, for the record."""
        assert self._first
        released_ns, started_ns = self._first
        return {
            "busy_from_ns": started_ns,
            "busy_until_ns": self._finished_ns,
            "released_ns": released_ns,
            "started_ns": started_ns,
            "finished_ns": self._finished_ns,
        }


async def measure_finite(session: Session, runner: Runner) -> Message:
    """Measure a finite workload on its loop; the loop's own clock waits for the release.

    It runs in the session's task, as it would in a script. Raises whatever the workload raises.
    """
    finite_run = FiniteRun(session)
    session.channel.send(session.ready)
    while (order := await runner.receive(session.channel))["do"] == "work":
        finite_run.order(order)
        while (wait_s := finite_run.wait_s) > 0:  # again if a timer fires early, as uvloop's may
            await runner.sleep(wait_s)
        finite_run.start()
        if finite_run.has_work:
            await session.workload.run(session.worker)
        finite_run.finish()
    return finite_run.times()


def measure_without_loop(session: Session) -> Message:
    """Measure a workload that makes its own loops, where none runs. Raises whatever it raises."""
    finite_run = FiniteRun(session)
    session.channel.send(session.ready)
    finite_run.order(session.channel.receive())
    while (wait_s := finite_run.wait_s) > 0:
        time.sleep(wait_s)
    finite_run.start()
    session.workload.work(session.worker)
    finite_run.finish()
    session.channel.receive()
    return finite_run.times()
