"""Work in the place where it matters: a millisecond in which nothing waits."""

import time

WORK_S = 0.001


def work() -> None:
    """Keep the CPU busy for a millisecond."""
    until = time.perf_counter() + WORK_S
    while time.perf_counter() < until:
        pass
