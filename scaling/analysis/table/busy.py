"""Overlap: in how much of the counted time all workers were busy together.

Busy spans are compared, not the times of ticks: with the GIL a tick can come 100 ms late while its
worker is busy all the time.
"""

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.table.column import Column
from scaling.analysis.table.stacks import Stack, over_window
from scaling.analysis.table.ticks import from_ticks
from scaling.analysis.validity.course import LEAST_STALL, MISSED

# A worker stalls if for a long time it does almost nothing, in operations and in CPU time. A worker
# that waits for I/O or for the GIL still does a little all the time.
# A stall lasts at least this long, also in short windows. A busy machine takes the CPU away for
# about 0.1 s at a time, however long the window. That is noise, and excluding such runs would
# select runs by their result.
SHORTEST_STALL_NS = 250_000_000
LEAST_OTHER = 1 / 10  # of the window: the pace outside a stall is taken over at least this long
MOST_PACE = 1 / 5  # of the worker's pace outside the stall

# In a stall over the fraction x of a window the pace is below MOST_PACE of the pace outside, so at
# most MOST_PACE / (MOST_PACE x + 1 - x) of the mean pace: 0.714 for x = 1 - LEAST_OTHER, less for
# any other x. So every stall contains a sub-window at least this slow.
SLOW = 0.72


def overlap(stack: Stack) -> Floats:
    """The largest share of the counted time in which all workers can have been busy together.

    It is the busy share of the worst worker. The counted time lies between a worker's own first and
    last tick. A worker is busy from the start of its traffic until it is stopped, except in the
    longest stall in between. Late ticks are no stall: a worker may be at work all the while. Shape:
    (runs,).
    """
    all_from = stack.busy_from.max(axis=1, keepdims=True)
    all_until = stack.busy_until.min(axis=1, keepdims=True)
    opened, closed = stack.time[..., 0], stack.time[..., -1]
    together = np.minimum(closed, all_until) - np.maximum(opened, all_from)
    stalled = np.zeros(opened.shape)
    suspects = _has_a_slow_stretch(stack)
    if suspects.any():
        stalled[suspects] = longest_stall(stack.part(suspects))
    busy = np.minimum(np.maximum(together, 0), closed - opened - stalled)
    return np.asarray((busy / (closed - opened)).min(axis=1))


def _has_a_slow_stretch(stack: Stack) -> Flags:
    """Whether a worker of a run was slow between two ticks; otherwise it cannot have stalled.

    Shape: (runs,). Looking for stalls costs more than all other figures of a run together.
    """
    mean = stack.done / over_window(stack.time)
    return np.asarray(~(stack.paces >= SLOW * mean[..., None]).all(axis=(1, 2)))


def longest_stall(stack: Stack) -> Floats:
    """For how long a worker did nothing in the worst stretch between two of its ticks, ns.

    Shape: runs × workers. A stretch is compared with the same worker's pace outside it; operations
    that were done in it count as time. One long operation is no stall: its CPU time goes on. A
    worker that finishes only a few operations looks like one that waits for them.
    """
    window = over_window(stack.time)[..., None]
    least = np.maximum(LEAST_STALL * window, SHORTEST_STALL_NS)
    longest = np.zeros(window.shape[:2])
    for first in range(stack.time.shape[-1] - 1):
        lasts = stack.time[..., first + 1 :] - stack.time[..., first, None]
        beside = lasts / np.maximum(window - lasts, LEAST_OTHER * window)
        done, due = _done_and_due(stack.operations, first, beside)
        stalled = (lasts > least) & (due >= MISSED) & (done < MOST_PACE * due)
        if stack.cpu is not None:
            used, usual = _done_and_due(stack.cpu, first, beside)
            stalled &= used < MOST_PACE * usual
        idle = np.where(stalled, lasts * (1 - done / due), 0)
        longest = np.maximum(longest, idle.max(axis=-1))
    return longest


def _done_and_due(counter: Integers, first: int, beside: Floats) -> tuple[Floats, Floats]:
    """What a counter gained from tick `first` to each later one, and would at the pace outside.

    `beside` is how long each stretch is, in multiples of what lies outside it.
    """
    done = (counter[..., first + 1 :] - counter[..., first, None]).astype(np.float64)
    return done, (over_window(counter)[..., None] - done) * beside


BUSY = {
    "overlap": Column(
        read=from_ticks(overlap, of="windowed"),
        definition="share of the counted time in which all workers were busy, worst worker; not of "
        "finite runs",
        better="more",
    ),
}
