"""CPU time by Python function, and time blocked on locks by stack: `workers.stacks` beside a run.

The sampler is a process of the child's own build, outside the measured process tree.
"""

import contextlib
import json
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scaling.analysis.function_gains import Tally
from scaling.base.files import text_or_empty
from scaling.base.formats import percent
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.beside import SampleKind
from scaling.run.profile.perf import Perf, Thread, UnavailableError, python_name
from scaling.run.waits import CALLS, RUNNING

RATE_PER_S = 200
STOP_S = 20.0
NEAR_NS = 500_000  # perf samples a thread that has a CPU every half millisecond
PTRACE = Path("/proc/sys/kernel/yama/ptrace_scope")
FUTEX = next((str(number) for number, name in CALLS.items() if name == "futex"), "")
NONE = "(no Python function)"
FRAMES_SHOWN = 4  # of the stack of a thread that is blocked
WHY = {
    "no module": "Python functions: their stacks can be read since CPython 3.14",
    "not permitted": "Python functions: reading another process's memory is not permitted",
}


class Stacks:
    """Samples the Python stacks of a run's workers, in the same steps as `Perf`."""

    def __init__(self, arm: PreparedArm, folders: Sequence[str], perf: Perf | None) -> None:
        """`folders` are those that a child imports from: they are left out of names.

        `perf`, where there is one, knows when a thread had a CPU.
        """
        self._arm = arm
        self._perf = perf
        self._folders = folders
        self._process: subprocess.Popen[str] | None = None
        self._document: dict[str, Any] = {}
        self._taken = self._missed = 0

    @property
    def note(self) -> str:
        """How many samples of all runs could not be read; empty where none was missed."""
        if not self._missed:
            return ""
        share = percent(self._missed / (self._missed + self._taken))
        return (
            f"Python functions: {share} of the samples were missed: the stack changed while it was "
            "read"
        )

    def start(self, threads: Sequence[Thread]) -> None:
        """Begin to sample; return when the sampler has found the interpreters."""
        self._document = {}
        named = [f"{pid}:{thread}" for pid, thread in threads]
        command = [self._arm.program, "-m", "workers.stacks", str(RATE_PER_S), *named]
        self._process = process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=dict(self._arm.environment),
            start_new_session=True,  # Ctrl-C is the driver's
        )
        assert process.stdout
        if (line := process.stdout.readline()) != "sampling\n":
            with contextlib.suppress(ValueError):
                self._document = json.loads(line)
            raise UnavailableError(_why(str(self._document.get("failed", "the sampler ended"))))

    def stop(self) -> None:
        """End sampling and take the samples."""
        if self._process:
            with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
                self._document = json.loads(self._process.communicate(timeout=STOP_S)[0])
            self._taken += len(self._document.get("samples", ()))
            self._missed += self._document.get("missed", 0)

    def tallies(self, opened_ns: int, closed_ns: int) -> Mapping[SampleKind, Tally]:
        """CPU time by function, alone and with callees; time in a futex by stack."""
        on_cpu = None
        with contextlib.suppress(UnavailableError):  # perf says so itself
            on_cpu = self._perf.on_cpu() if self._perf else None
        inside = [
            (self._document["stacks"][place], state, _times_on_cpu(on_cpu, thread, at_ns))
            for at_ns, thread, state, place in self._document.get("samples", ())
            if opened_ns <= at_ns <= closed_ns
        ]
        if not inside:
            raise UnavailableError("Python functions: no stack was seen in the window")
        return tallies_of(inside, self._folders)

    def close(self) -> None:
        """End the sampler."""
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = None


def _times_on_cpu(on_cpu: Mapping[int, Sequence[int]] | None, thread: int, at_ns: int) -> int:
    """How often perf found a thread on a CPU at about that time; without perf it is 1."""
    if on_cpu is None:
        return 1
    times = on_cpu.get(thread, ())
    return bisect_right(times, at_ns + NEAR_NS) - bisect_left(times, at_ns - NEAR_NS)


def tallies_of(
    inside: Sequence[tuple[Sequence[Sequence[str]], str, int]],
    folders: Sequence[str],
    futex: str = FUTEX,
) -> Mapping[SampleKind, Tally]:
    """Samples of stacks by function and by stack.

    A sample is a stack of (function, file), innermost first, the state of its thread, and how often
    that was on a CPU at about that time. `futex` is the number of the system call in which threads
    wait for locks. To the kernel, a thread that waits for a CPU is running: perf samples only what
    has one.
    """
    own: Counter[tuple[SampleKind, str]] = Counter()
    total: Counter[tuple[SampleKind, str]] = Counter()
    blocked: Counter[tuple[SampleKind, str]] = Counter()
    running = on_cpu = 0
    for stack, state, times in inside:
        names = [python_name(function, file, folders) for function, file in stack] or [NONE]
        if state == RUNNING and times:
            running += times
            on_cpu += 1
            own["python", names[0]] += times
            for each in set(names):
                total["python_total", each] += times
        elif state == futex:
            blocked["blocked", " < ".join(names[:FRAMES_SHOWN])] += 1
    count = len(inside)
    tallies: dict[SampleKind, Tally] = {
        "python": Tally(own, running, on_cpu),
        "python_total": Tally(total, running, on_cpu),
    }
    if futex:
        tallies["blocked"] = Tally(blocked, count, count)
    return tallies


def _why(failed: str) -> str:
    """Why there are no stacks, with the setting that would permit it."""
    reason = WHY.get(failed, f"Python functions: {failed}")
    if failed != "not permitted":
        return reason
    now = text_or_empty(PTRACE)
    scope = f"sysctl kernel.yama.ptrace_scope=0 permits it (it is {now}); " if now else ""
    return f"{reason}; {scope}in a container, --cap-add SYS_PTRACE does"
