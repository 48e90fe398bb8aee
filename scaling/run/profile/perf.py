"""CPU time by native and kernel function, with Linux's `perf`.

`cpu-clock` is a timer of the kernel: it works on virtual machines, which often have no hardware
counters. Samples carry the monotonic clock, so that those of the window can be chosen afterwards.
Callers are only known where the interpreter was compiled with frame pointers. There the child also
runs with `-X perf`, whose trampolines name the Python functions on the stack. Without frame
pointers a Python function was found in a fifth of the samples of `echo` on 3.14t, and an operation
took 6 % more CPU time, so there it runs without, and Python functions are those of sampled stacks.
"""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scaling.analysis.function_gains import Tally
from scaling.base.errors import ScalingError
from scaling.base.files import text_or_empty
from scaling.journal.beside import SampleKind

RATE_PER_S = 1999  # not in step with anything that happens every millisecond
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
BEGIN_S, STOP_S, READ_S = 20.0, 20.0, 120.0
# The events that are sampled, with the kernel and without, which needs fewer rights; and those that
# show whether that is permitted. perf leaves a forbidden kernel out of `cpu-clock` unannounced.
WITH_KERNEL, WITHOUT = "cpu-clock", "cpu-clock:u"
EVENTS = {WITH_KERNEL: "cpu-clock:k", WITHOUT: WITHOUT}
UNSEEN: tuple[SampleKind, str] = ("kernel", "[the kernel, which cannot be seen]")

HEAD = re.compile(r"^\s*(?P<thread>\d+)\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s*(?P<frame>.*)$")
FRAME = re.compile(r"^\s*(?P<address>[0-9a-f]+)\s+(?P<symbol>.+) \((?P<object>.*?)\)\s*$")
CLONE = re.compile(r"\.(?:cold|constprop|isra|part|lto_priv|localalias|llvm)\b[.\d]*")
TRAMPOLINE = "py::"
TRAMPOLINES: tuple[SampleKind, str] = ("native", "[trampolines of -X perf]")
NO_KERNEL = ("[vdso]", "[vsyscall]", "[unknown]", "[JIT]", "[heap]", "[stack")
UNREADABLE = "native functions: perf cannot read its samples"
LIBRARY = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+t?)/")

type Thread = tuple[int, int]  # the ids of its process and of itself


class UnavailableError(ScalingError):
    """A source cannot sample here; the message says why, and what would permit it."""


class Sample(NamedTuple):
    """One sample: when (monotonic ns), in which thread, and the frames, innermost first.

    Of a frame there is the kind and the name; that of a Python function is `py::name:file`.
    """

    at_ns: int
    thread: int
    frames: list[tuple[SampleKind, str]]


class Perf:
    """Samples the workers of a run with `perf record`, from when they are ready to the end."""

    def __init__(
        self, folders: Sequence[str] = (), *, frame_pointers: bool = False, program: str = "perf"
    ) -> None:
        """`folders` are those that a child imports from: they are left out of names.

        Raises:
            UnavailableError: there is no perf, or it may not sample.
        """
        self._program = shutil.which(program) or ""
        if not self._program:
            raise UnavailableError(
                "native functions: perf is not installed (Debian: linux-perf, Ubuntu: "
                "linux-tools-generic, Fedora: perf)"
            )
        self._folders = folders
        self._calls = frame_pointers
        self._event = self._permitted()
        self._process: subprocess.Popen[bytes]
        self._data: Path
        self._samples: list[Sample] | None = None
        self._to_close = contextlib.ExitStack()

    @property
    def note(self) -> str:
        """What it cannot see, and what would permit it; empty where it sees everything."""
        if self._event == WITH_KERNEL:
            return ""
        return f"kernel functions: not permitted; {_how_to_permit()}"

    def _permitted(self) -> str:
        """The event that may be sampled here: tried, since many things may forbid it."""
        words = ""
        for event, tried in EVENTS.items():
            command = [self._program, "record", "-e", tried, "-o", os.devnull, "true"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not done.returncode:
                return event
            words = " ".join(done.stderr.split("\n\n")[0].split())
        raise UnavailableError(
            f"native functions: perf may not sample ({words}); {_how_to_permit()}"
        )

    def start(self, threads: Sequence[Thread]) -> None:
        """Begin to sample these threads; return when perf has reported that it has begun.

        Raises:
            UnavailableError: it is not possible.
        """
        folder = tempfile.TemporaryDirectory(prefix="scaling-perf-")
        self._data = Path(self._to_close.enter_context(folder), "perf.data")
        asked, asks = os.pipe()
        answer, answers = os.pipe()
        for pipe in (asks, answer):  # open while perf runs: it reads the one all the time
            self._to_close.callback(os.close, pipe)
        command = [
            self._program, "record", "-q", "-e", self._event, "-F", str(RATE_PER_S),
            "-k", "CLOCK_MONOTONIC", "--no-buildid", "--no-buildid-cache",
            *(["-g"] if self._calls else []),
            "-D", "-1", "--control", f"fd:{asked},{answers}",
            "-t", ",".join(str(thread) for _, thread in threads), "-o", str(self._data),
        ]  # fmt: skip
        with (self._data.parent / "errors").open("w+b") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(asked, answers),
                start_new_session=True,  # Ctrl-C is the driver's
            )
            self._to_close.callback(self._process.wait)
            self._to_close.callback(self._process.kill)  # before it is waited for
            os.close(asked)
            os.close(answers)
            begun = b""
            with contextlib.suppress(BrokenPipeError):
                os.write(asks, b"enable\n")
                if select.select([answer], [], [], BEGIN_S)[0]:
                    begun = os.read(answer, 16)
                else:
                    self._process.kill()
            if not begun:
                self._process.wait()
                errors.seek(0)
                words = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
                raise UnavailableError(
                    f"native functions: perf did not begin: {words or 'no answer'}"
                )

    def stop(self) -> None:
        """End sampling and have the samples written."""
        self._process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)

    def tallies(self, opened_ns: int, closed_ns: int) -> Mapping[SampleKind, Tally]:
        """The samples in the window (monotonic ns), by the first kind of each part of a profile.

        Own CPU time by function; with callers, by the Python function that called it, too.

        Raises:
            UnavailableError: they cannot be read.
        """
        inside = [each for each in self._read() if opened_ns <= each.at_ns <= closed_ns]
        return tallies_of(inside, self._folders)

    def on_cpu(self) -> Mapping[int, Sequence[int]]:
        """When each thread was found on a CPU (monotonic ns, rising).

        Raises:
            UnavailableError: the samples cannot be read.
        """
        times: dict[int, list[int]] = {}
        for each in self._read():
            times.setdefault(each.thread, []).append(each.at_ns)
        return {thread: sorted(found) for thread, found in times.items()}

    def _read(self) -> list[Sample]:
        """The samples of the run, read once."""
        if self._samples is None:
            command = [self._program, "script", "-i", str(self._data), "--ns", "--no-inline"]
            try:
                done = subprocess.run(
                    [*command, "-F", "tid,time,ip,sym,dso"],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=READ_S,
                    check=True,
                )
            except subprocess.CalledProcessError as error:
                words = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                raise UnavailableError(f"{UNREADABLE}: {words}") from None
            except subprocess.TimeoutExpired:
                raise UnavailableError(f"{UNREADABLE} within {READ_S:.0f} s") from None
            lines = done.stdout.decode(errors="replace").splitlines()
            self._samples = list(samples(lines))
        return self._samples

    @property
    def sees_kernel(self) -> bool:
        """Whether time in the kernel is sampled, too."""
        return self._event == WITH_KERNEL

    def close(self) -> None:
        """End perf and remove its files; it can start again."""
        self._to_close.close()
        self._samples = None


def file_shown(file: str, folders: Sequence[str]) -> str:
    """A source file without the machine's folders: its place in a library or in one of these."""
    for folder in folders:
        if folder and file.startswith(f"{folder.rstrip('/')}/"):
            return file[len(folder.rstrip("/")) + 1 :]
    below = LIBRARY.sub("", file)
    return below if below != file else Path(file).name


def python_name(function: str, file: str, folders: Sequence[str]) -> str:
    """`Handle._run (asyncio/events.py)`."""
    return f"{function} ({file_shown(file, folders)})"


def _how_to_permit() -> str:
    """The setting that would permit it, with what it is now."""
    now = text_or_empty(PARANOID)
    found = f"it is {now}; " if now else ""
    return (
        f"sysctl kernel.perf_event_paranoid=1 permits it ({found}in a container, "
        "--cap-add PERFMON does)"
    )


def samples(lines: Iterable[str]) -> Iterator[Sample]:
    """The samples that `perf script` prints; lines that fit nothing are passed over.

    A sample without callers is one line; one with callers has a line for each frame below it.
    """
    current: Sample | None = None
    for text in lines:
        line = text.replace(" (deleted)", "")  # of a file that was replaced since
        head = HEAD.match(line)
        if head:
            if current and current.frames:
                yield current
            at_ns = int(head["s"]) * 1_000_000_000 + int(head["ns"])
            current = Sample(at_ns, int(head["thread"]), [])
        frame = FRAME.match(head["frame"] if head else line)
        if frame and current:
            current.frames.append(_named(frame["symbol"], frame["object"]))
    if current and current.frames:
        yield current


def _named(symbol: str, found_in: str) -> tuple[SampleKind, str]:
    """Kind and name of a function: without what the compiler adds to it, and without folders."""
    kernel = found_in.startswith("[") and not found_in.startswith(NO_KERNEL)
    name = symbol if symbol.startswith(TRAMPOLINE) else CLONE.sub("", symbol)
    if symbol == "[unknown]":
        # Of `[JIT] tid 77` without the number, which differs from run to run.
        name = f"[unknown] ({Path(found_in).name.partition(' tid ')[0]})"
    return ("kernel" if kernel else "native"), name


def tallies_of(found: Sequence[Sample], folders: Sequence[str]) -> Mapping[SampleKind, Tally]:
    """Samples by function: the innermost frame, and the innermost Python function."""
    own: Counter[tuple[SampleKind, str]] = Counter()
    python: Counter[tuple[SampleKind, str]] = Counter()
    total: Counter[tuple[SampleKind, str]] = Counter()
    for sample in found:
        kind, name = sample.frames[0]
        own[TRAMPOLINES if name.startswith(TRAMPOLINE) else (kind, name)] += 1
        functions = [
            python_name(*name.removeprefix(TRAMPOLINE).rpartition(":")[::2], folders)
            for _, name in sample.frames
            if name.startswith(TRAMPOLINE)
        ]
        if functions:
            python["python", functions[0]] += 1
            total.update({("python_total", each) for each in functions})
    tallies: dict[SampleKind, Tally] = {"native": Tally(own, len(found), len(found))}
    if python:
        tallies["python"] = Tally(python, len(found), len(found))
        tallies["python_total"] = Tally(total, len(found), len(found))
    return tallies
