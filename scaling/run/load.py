"""The load of one run: a generator beside the child, connected when its workers answer.

The generator is outside the measured tree. It gets the instants of the workers' window, so that
both measure the same seconds, and ends when its standard input does: with the driver at the latest.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil

from scaling.base.errors import ScalingError
from scaling.journal.record import Latency, Load, SubWindow
from scaling.study.load import LoadAsked

MODULE = "workers.services.load"
INVALID = 1  # its exit code for a result that it does not trust; whether it counts is judged later
END_S = 20.0  # after the last instant


class LoadError(ScalingError):
    """The load could not be sent; the message is one line for the record."""


class _Histograms(msgspec.Struct, frozen=True):
    latency: Latency
    service: Latency
    slip: Latency
    censored: Latency
    completed: int


class _Summary(msgspec.Struct, frozen=True):
    """What the generator prints (`workers.services.load.summary`), as far as it is kept."""

    offered: int
    completed: int
    errors: dict[str, int]
    rate_per_s: float
    busy_fraction: float
    processes: int
    python: str
    gil: bool
    loop: str
    timer: str | None
    slice_ns: int | None
    windows: list[_Histograms]


@dataclass(frozen=True, kw_only=True)
class GeneratorProgram:
    """How generators are started: the interpreter, its environment, processes and their CPUs."""

    python: str
    environment: Mapping[str, str]
    processes: int = 1


class Generator:
    """The load generator of one run."""

    def __init__(
        self, program: GeneratorProgram, asked: LoadAsked, cpus: Sequence[int] | None = None
    ) -> None:
        """`cpus` are for the generator alone; None leaves it to the kernel."""
        self._program = program
        self._asked = asked
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._cpu_s = 0.0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`

    def connect(self, urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
        """Start it and wait until all connections are made.

        Raises:
            LoadError: it could not be started, or a server was not reached.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="scaling-load-")
        listed = Path(self._folder.name) / "requests.jsonl"
        listed.write_text("".join(f"{json.dumps(each)}\n" for each in requests), encoding="utf-8")
        try:
            self._process = subprocess.Popen(
                [self._program.python, "-m", MODULE, *self._options(urls, listed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=dict(self._program.environment),
                start_new_session=True,  # Ctrl-C is the driver's to handle
            )
        except OSError as error:
            raise LoadError(f"the load generator cannot be started: {error.strerror}") from None
        if self._cpus is not None:
            # Its processes are started after this, so they are where it is.
            os.sched_setaffinity(self._process.pid, self._cpus)
        self._line()

    def begin(self, instants_ns: Sequence[int]) -> None:
        """Have it send from its warm-up before the first instant until the last."""
        if self._process and self._process.stdin:
            with contextlib.suppress(BrokenPipeError):  # it is gone: `result` says why
                self._process.stdin.write(json.dumps({"instants_ns": list(instants_ns)}).encode())
                self._process.stdin.write(b"\n")
                self._process.stdin.flush()

    def cpu_s(self) -> float:
        """CPU seconds that its processes have used so far; the last reading once they are gone."""
        if self._process is not None:
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(self._process.pid)
                times = [each.cpu_times() for each in (root, *root.children(recursive=True))]
                self._cpu_s = max(self._cpu_s, sum(each.user + each.system for each in times))
        return self._cpu_s

    def result(self) -> Load:
        """Wait for what it measured.

        Raises:
            LoadError: it ended without a result.
        """
        try:
            summary = msgspec.json.decode(self._line(), type=_Summary)
        except msgspec.DecodeError as error:
            raise LoadError(f"the load generator printed no result: {error}") from None
        asked, windows = self._asked, summary.windows
        return Load(
            rate_per_s=asked.rate_per_s,
            arrivals=asked.arrivals,
            keep_alive=asked.keep_alive,
            connections=asked.connections,
            seed=asked.seed,
            processes=summary.processes,
            cpus=None if self._cpus is None else sorted(self._cpus),
            python=summary.python,
            gil=summary.gil,
            loop=summary.loop,
            timer=summary.timer,
            slice_ns=summary.slice_ns,
            offered=summary.offered,
            completed=summary.completed,
            achieved_per_s=summary.rate_per_s,
            errors=summary.errors,
            busy_fraction=summary.busy_fraction,
            cpu_s=self._cpu_s,
            latency=_together([each.latency for each in windows]),
            unfinished=_together([each.censored for each in windows]),
            service=_together([each.service for each in windows]),
            slip=_together([each.slip for each in windows]),
            windows=[_sub_window(each) for each in windows],
        )

    def close(self) -> None:
        """End it, by force where it must be. Harmless when it has ended."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(self._process.pid)
                for each in (*root.children(recursive=True), root):
                    each.kill()
            self._process.wait()
        if self._folder:
            self._folder.cleanup()
        self._stderr.close()

    def _options(self, urls: Sequence[str], listed: Path) -> list[str]:
        asked = self._asked
        rate = "max" if asked.rate_per_s is None else f"{asked.rate_per_s:g}"
        options = [
            *urls,
            f"--rate={rate}",
            f"--arrivals={asked.arrivals}",
            f"--connections={asked.connections}",
            f"--processes={min(self._program.processes, asked.connections)}",
            f"--seed={asked.seed}",
            f"--warmup={asked.warmup_s}",
            f"--requests={listed}",
        ]
        return [*options, *["--no-keepalive"] * (not asked.keep_alive), *SWITCHES]

    def _line(self) -> bytes:
        """The next line of its output."""
        assert self._process
        assert self._process.stdout
        line = self._process.stdout.readline()
        if line:
            return line
        self._process.wait()
        self._stderr.seek(0)
        words = self._stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        raise LoadError(f"the load generator ended: {words or 'it said nothing'}")


SWITCHES = ("--json", "--histograms", "--instants")


def _together(histograms: Sequence[Latency]) -> Latency:
    """The sum of some histograms."""
    counts: dict[int, int] = {}
    for each in histograms:
        for value, count in zip(each.value_ns, each.count, strict=True):
            counts[value] = counts.get(value, 0) + count
    values = sorted(counts)
    return Latency(value_ns=values, count=[counts[value] for value in values])


def _sub_window(found: _Histograms) -> SubWindow:
    """The few figures of a part of the window that are kept."""
    latency = found.latency
    total = sum(latency.count)
    if not total:
        return SubWindow()
    below = 0
    middle = latency.value_ns[-1]
    for value, count in zip(latency.value_ns, latency.count, strict=True):
        below += count
        if 2 * below >= total:
            middle = value
            break
    return SubWindow(answered=total, p50_ns=middle, max_ns=latency.value_ns[-1])
