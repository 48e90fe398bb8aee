"""CPU time by Python function, and time blocked on locks by stack: `workers.stacks` beside a run.

The sampler is a process of the child's own build, outside the measured process tree.
"""

import contextlib
import json
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scaling.analysis.attribution.differential import Tally
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.profile import Kind
from scaling.run.profile.source import Thread, UnavailableError, python_name
from scaling.run.waits import CALLS, RUNNING

RATE_PER_S = 200
STOP_S = 20.0
PTRACE = Path("/proc/sys/kernel/yama/ptrace_scope")
FUTEX = next((str(number) for number, name in CALLS.items() if name == "futex"), "")
NONE = "(no Python function)"
FRAMES_SHOWN = 4  # of the stack of a thread that is blocked
WHY = {
    "no module": "Python functions: their stacks can be read since CPython 3.14",
    "not permitted": "Python functions: reading another process's memory is not permitted",
}


class Stacks:
    """Samples the Python stacks of a run's workers; see `Source`."""

    def __init__(self, arm: PreparedArm, folders: Sequence[str]) -> None:
        """`folders` are those that a child imports from: they are left out of names."""
        self._arm = arm
        self._folders = folders
        self._process: subprocess.Popen[str] | None = None
        self._document: dict[str, Any] = {}

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

    def tallies(self, opened_ns: int, closed_ns: int) -> Mapping[Kind, Tally]:
        """CPU time by function, alone and with callees; time in a futex by stack."""
        inside = [
            (self._document["stacks"][place], state, used_ns)
            for at_ns, place, state, used_ns in self._document.get("samples", ())
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


def tallies_of(
    inside: Sequence[tuple[Sequence[Sequence[str]], str, int]],
    folders: Sequence[str],
    futex: str = FUTEX,
) -> Mapping[Kind, Tally]:
    """Samples of stacks by function and by stack, each with the state of its thread.

    `futex` is the number of the system call in which threads wait for locks. A sample of one that
    runs counts as much as the CPU time that the thread has used since its last sample: otherwise a
    thread that waits for a CPU would count as if it had one.
    """
    own: defaultdict[tuple[Kind, str], float] = defaultdict(float)
    total: defaultdict[tuple[Kind, str], float] = defaultdict(float)
    blocked: defaultdict[tuple[Kind, str], float] = defaultdict(float)
    running_ns = 0
    for stack, state, used_ns in inside:
        names = [python_name(function, file, folders) for function, file in stack] or [NONE]
        if state == RUNNING:
            running_ns += used_ns
            own["python", names[0]] += used_ns
            for each in set(names):
                total["python_total", each] += used_ns
        elif state == futex:
            blocked["blocked", " < ".join(names[:FRAMES_SHOWN])] += 1
    count = len(inside)
    tallies: dict[Kind, Tally] = {
        "python": Tally(own, running_ns, count),
        "python_total": Tally(total, running_ns, count),
    }
    if futex:
        tallies["blocked"] = Tally(blocked, count, count)
    return tallies


def _why(failed: str) -> str:
    """Why there are no stacks, with the setting that would permit it."""
    said = WHY.get(failed, f"Python functions: {failed}")
    if failed != "not permitted":
        return said
    now = PTRACE.read_text().strip() if PTRACE.exists() else ""
    scope = f"sysctl kernel.yama.ptrace_scope=0 permits it (it is {now}); " if now else ""
    return f"{said}; {scope}in a container, --cap-add SYS_PTRACE does"
