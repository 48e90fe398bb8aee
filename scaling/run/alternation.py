"""Runs that are compared take turns: all are alive, one works, the others are stopped.

Each is a run as any other, in a task of the driver. A turn is handed on, not timed: the processes
of the run are continued, it takes a slice of its window once it has settled, says that every worker
has taken its closing tick, and is stopped; only then the next one is continued. Of finite work it
does a round: some of the parts that it can be divided into.

By `python -m tests.benchmarks alternation` a ratio scatters less than half as much, in equal time.
"""

import asyncio
import contextlib
import math
import statistics
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import psutil

from scaling.journal.record import Disturbance
from scaling.machine.disturbance import MachineTimes, disturbance
from scaling.run.probe import cpu_s
from scaling.run.process_tree import RUN, NotStoppedError, Tree, mark_of_driver
from scaling.run.watcher import Watcher
from scaling.study.plan.groups import FEWEST_ROUNDS, PARTS, slice_s

# Where workers take their closing ticks so late that it is more than this part of a slice, slices
# are made longer, but not so long that a window has fewer than `FEWEST`.
MOST_LAG = 0.1
SLOW_S = 0.2
FEWEST = 8  # enough to see whether the rate is level
# So are slices that have fewer than this many requests of a connection, one after the other: all
# are sent at once when the load goes on, and an application that waits answers them in bunches.
# Slices open at another part of a request each time, by steps that no number of slices repeats, or
# all of them would have a bunch too many.
REQUESTS = 5
STEP = (math.sqrt(5) - 1) / 2
MOST_LONGER = 2  # than the slice before: what held up one of them is no reason for a long one
# Rounds of finite work take about as long as slices; the rate so far says which share of the work
# that is. The first are short.
ROUND_S = 0.1
MOST_ROUNDS = 100

type Facts = Mapping[str, Any]  # what a run says at the end of its turn
type Order = dict[str, Any]  # what it is to do in the next one
type Job[T] = Callable[[Member[T]], Coroutine[Any, Any, T]]


class Member[T]:
    """A run of a group: its task, its processes, and what both sides say at a turn."""

    def __init__(self, job: Job[T]) -> None:
        self.late_s: list[float] = []  # the latest closing tick of each slice
        self.requests_s: list[float] = []  # how long one took in the warm-up and in each slice
        self.is_finite = False
        self.work_s = 0.0  # how long all of finite work takes at the rate so far
        self.used_s = 0.0  # CPU seconds, in its turns, of all that works for it
        self.out_of_turn_s = 0.0  # and while others had theirs
        self._job = job
        self._task: asyncio.Task[T] | None = None
        self._tree: Tree | None = None
        self._order: asyncio.Future[Order]
        self._said: asyncio.Future[Facts]
        self._own_s = 0.0
        self._since_s: float | None = None
        self._other_cpu_s: Callable[[], float] = lambda: 0.0
        self._is_stopped = False
        self._paused_at_s: float | None = None  # on the clock of its CPU time

    @property
    def ended(self) -> bool:
        """True if the run is over."""
        return self._task is not None and self._task.done()

    def result(self) -> T:
        """Return what the run returned, or raise what it raised."""
        assert self._task
        return self._task.result()

    async def give(self, order: Order) -> None:
        """Let it work until it has done what is ordered, or has ended; then it is stopped.

        The first order starts it, and is done when its workers are ready. An empty one ends it.
        """
        if self.ended:
            return
        used_s = self._cpu_s()
        if self._paused_at_s is not None:
            self.out_of_turn_s += max(0.0, used_s - self._paused_at_s)
        self._since_s = time.monotonic()
        self._said = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.create_task(self._job(self))
        else:
            if self._tree and self._is_stopped:
                self._tree.go_on()
            if not self._order.done():  # it is cancelled where the child has just ended
                self._order.set_result(order)
        await asyncio.wait((self._said, self._task), return_when=asyncio.FIRST_COMPLETED)
        if self._said.done() and not self.ended:
            await self._pause(self._said.result())
            self._paused_at_s = self._cpu_s()
            self.used_s += self._paused_at_s - used_s
        self._own_s, self._since_s = self.own_s(), None
        if self.ended:
            self.result()

    def _cpu_s(self) -> float:
        return cpu_s(self.processes) + self._other_cpu_s()

    @property
    def request_s(self) -> float:
        """The duration of a request; 0 if it is not known, or there is none."""
        return statistics.median_low(self.requests_s) if self.requests_s else 0.0

    @property
    def processes(self) -> list[psutil.Process]:
        """The processes that were there when it was last stopped, and still are."""
        found = []
        for pid in self._tree.pids if self._tree and not self.ended else ():
            with contextlib.suppress(psutil.Error):
                found.append(psutil.Process(pid))
        return found

    async def end(self) -> None:
        """End it wherever it is; harmless if it has ended."""
        if self._task and not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _pause(self, facts: Facts) -> None:
        if facts["late_ns"]:
            self.late_s.append(facts["late_ns"] / 1e9)
        if facts.get("request_s"):
            self.requests_s.append(facts["request_s"])
        self.is_finite = facts.get("finite", False)
        self.work_s = facts.get("work_s", 0.0)
        if self._tree and facts["served"]:  # its load pauses, and it may have timers
            self._tree.look()
        elif self._tree:
            try:
                self._tree.stop()
                self._is_stopped = True
            except NotStoppedError:
                self._tree.kill()  # its outcome says how it ended
                assert self._task
                await asyncio.wait((self._task,))

    # For the task of the run.

    def started(self, tree: Tree, other_cpu_s: Callable[[], float]) -> None:
        """Its child is there.

        `other_cpu_s` is the CPU time so far of what works for it and is no process of the tree.
        """
        self._tree, self._other_cpu_s = tree, other_cpu_s

    async def next(self, facts: Facts) -> Order:
        """Be stopped until it has another turn; what to do then, nothing after the last one."""
        self._order = asyncio.get_running_loop().create_future()
        self._said.set_result(facts)
        return await self._order

    def own_s(self) -> float:
        """Seconds that it has not been stopped so far."""
        since_s = self._since_s
        return self._own_s + (time.monotonic() - since_s if since_s is not None else 0.0)


def in_turn[T](
    jobs: Callable[[ExitStack], Sequence[Job[T]]], window_s: float
) -> tuple[list[T], Disturbance]:
    """Do these runs in turn; return what they return, and what disturbed them all.

    `jobs` makes them, and what they need until the end of the stack. Each has `window_s` of slices.
    They take turns in their order, then in the reverse order, and so on. Whatever a job raises ends
    all of them. If this process is stopped for long meanwhile, all are made and done again. What a
    run does out of turn counts as a disturbance.

    Raises:
        OSError: no process can be started to watch over them.
    """
    while True:
        with ExitStack() as needed, Watcher(f"{RUN}={mark_of_driver()}") as watcher:
            found = asyncio.run(_in_turn(jobs(needed), window_s))
        if not watcher.ended_runs:
            return found


async def _in_turn[T](jobs: Sequence[Job[T]], window_s: float) -> tuple[list[T], Disturbance]:
    members = [Member(job) for job in jobs]
    order = [*members]
    try:
        for member in order:
            await member.give({})
        before, used_s = MachineTimes.now(), _used_s(members)
        if any(member.is_finite for member in order):
            await _do_rounds(order)
        else:
            await _take_slices(order, window_s)
        used_s = _used_s(members) - used_s
        seen = disturbance(before, MachineTimes.now(), used_s)
        for member in order:
            await member.give({})
    finally:
        for member in members:
            await member.end()
    return [each.result() for each in members], seen


async def _take_slices[T](order: list[Member[T]], window_s: float) -> None:
    """Have each take slice after slice, in an order that turns round: ABC, CBA, ABC, …."""
    length_s = shortest_s = slice_s(window_s)
    left_s, phase = window_s, 0.0
    while left_s > shortest_s / 2 and not all(member.ended for member in order):
        length_s = left_s / max(1, round(left_s / length_s))
        parts = max(1, round(PARTS * length_s / window_s))
        for member in order:
            wait_s = phase * member.request_s
            await member.give({"slice_s": length_s, "parts": parts, "wait_s": wait_s})
        left_s -= length_s
        phase = (phase + STEP) % 1
        order.reverse()
        length_s = max(length_s, min(_long_enough_s(order, window_s), MOST_LONGER * length_s))


async def _do_rounds[T](order: list[Member[T]]) -> None:
    """Have each do round after round of its work, the same share of it, until all of it is done."""
    share, done = 1 / MOST_ROUNDS, 0.0
    while done < 1 and not all(member.ended for member in order):
        rounds = max(1, round((1 - done) / share))
        done = 1.0 if rounds == 1 else done + (1 - done) / rounds
        for member in order:
            await member.give({"share_done": done})
        order.reverse()
        if works_s := [member.work_s for member in order if member.work_s]:
            share = ROUND_S / statistics.fmean(works_s)
            share = min(max(share, 1 / MOST_ROUNDS), 1 / FEWEST_ROUNDS)


def _long_enough_s[T](members: Sequence[Member[T]], window_s: float) -> float:
    """The least length of the next slice: for loops that are late, and for long requests."""
    lag_s = max((statistics.median(each.late_s) for each in members if each.late_s), default=0.0)
    request_s = max(each.request_s for each in members)
    return max(min(lag_s / MOST_LAG, SLOW_S, window_s / FEWEST), REQUESTS * request_s)


def _used_s[T](members: Sequence[Member[T]]) -> float:
    """CPU seconds of all runs and of this process, which hands on the turns."""
    return time.process_time() + sum(each.used_s for each in members)
