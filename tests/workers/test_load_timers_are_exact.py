"""Timers call back when they are set to, on every loop; the scheduling slice is read back."""

import asyncio
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import environment
from workers.services.load.timer import LoopTimer, Timer, new_timer
from workers.services.serving.program import new_event_loop

LOOPS = pytest.mark.parametrize("factory", [asyncio.new_event_loop, new_event_loop])
EARLY_NS = 2_000_000  # uvloop's own timers may fire early by a millisecond


def loop_timer(call: Callable[[], object]) -> Timer:
    return LoopTimer(asyncio.get_running_loop(), call)


@LOOPS
@pytest.mark.parametrize("make", [new_timer, loop_timer])
def test_a_timer_calls_at_each_time_it_is_set_to(
    factory: Callable[[], asyncio.AbstractEventLoop], make: Callable[..., Timer]
) -> None:
    async def main() -> None:
        called_ns: list[int] = []
        due_ns: list[int] = []
        done = asyncio.Event()

        def call() -> None:
            called_ns.append(time.monotonic_ns())
            if len(called_ns) == 6:
                done.set()
                timer.close()
                return
            after_ns = -(10**9) if len(called_ns) == 3 else 7_000_000  # one is in the past
            due_ns.append(time.monotonic_ns() + after_ns)
            timer.set(due_ns[-1])

        timer = make(call)
        due_ns.append(time.monotonic_ns() + 5_000_000)
        timer.set(due_ns[-1])
        async with asyncio.timeout(PATIENCE_S):
            await done.wait()
        await asyncio.sleep(0.02)
        timer.close()
        assert len(called_ns) == 6
        early = EARLY_NS if timer.kind == "loop" else 0
        for due, called in zip(due_ns, called_ns, strict=True):
            assert called >= due - early

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())


@LOOPS
def test_a_closed_timer_never_calls(factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def main() -> None:
        called: list[int] = []
        for make in (new_timer, loop_timer):
            timer = make(lambda: called.append(1))
            timer.set(time.monotonic_ns() + 5_000_000)
            timer.close()
        await asyncio.sleep(0.03)
        assert called == []

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())


def test_linux_has_the_exact_timer() -> None:
    async def kind() -> str:
        timer = new_timer(lambda: None)
        timer.close()
        return timer.kind

    assert asyncio.run(kind()) == ("timerfd" if hasattr(os, "timerfd_create") else "loop")


SLICE = """
from workers.services.load.timer import ask_for_slice
print(ask_for_slice(300_000))
"""


def test_the_slice_is_what_the_kernel_has() -> None:
    """Granted from Linux 6.12; before, and elsewhere, whatever is read back is no promise."""
    printed = subprocess.run(
        [sys.executable, "-c", SLICE], capture_output=True, text=True, env=environment(), check=True
    ).stdout.strip()
    version = platform.release().split(".")[:2]
    known = platform.machine() in ("x86_64", "aarch64", "riscv64")
    if sys.platform == "linux" and known and tuple(map(int, version)) >= (6, 12):
        assert printed == "300000"
    else:
        assert printed == "None" or int(printed) > 0
