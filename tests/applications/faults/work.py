"""Work in the place where it matters: ten milliseconds in which nothing waits."""

import time

WORK_S = 0.01  # so long that requests to several loops meet, also on a busy machine


def work() -> None:
    """Keep the CPU busy for ten milliseconds."""
    until = time.perf_counter() + WORK_S
    while time.perf_counter() < until:
        pass
