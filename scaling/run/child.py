"""One run in a fresh child process: observed, limited in time, its outcome always reported."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import msgspec

from scaling.builds import cache
from scaling.builds.installed import URLS
from scaling.journal.reading import UNREADABLE
from scaling.journal.record import (
    Disturbance,
    Load,
    Memory,
    Outcome,
    Record,
    Waits,
    decode_record,
)
from scaling.machine.disturbance import disturbance
from scaling.machine.topology import cpus_of
from scaling.run.alternation import Member
from scaling.run.load_client import Client, LoadError
from scaling.run.probe import Probe
from scaling.run.process_tree import RUN, ask_for_stacks, end_tree, ended_within, mark_of_driver
from scaling.run.redaction import Hiding, without_address, without_paths
from scaling.run.waits import RATE_PER_S, WaitSampler

# Beyond warm-up and window: starting many workers, stopping loops that compete for the GIL. The
# child's own limits per phase are shorter, so that it can report itself which phase hangs.
LIMIT_S = 200.0
LEAST_WAIT_S = 0.05
STDERR_KEPT = 20_000  # bytes, from the end, where tracebacks are
GARBAGE_KEPT = 2_000  # bytes, from the beginning, which shows what it is

type Watch = Callable[[str, Mapping[str, Any]], None]  # gets a phase, and its facts
type Clock = Callable[[], float]  # s
type Front = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Child:
    """How to start a child: its interpreter (or other program) and its environment variables."""

    program: str
    environment: Mapping[str, str]
    arguments: tuple[str, ...] = ("-m", "workers")


@dataclass(frozen=True)
class Ending:
    """How a run ended, and what was measured from outside."""

    outcome: Outcome
    elapsed_s: float
    record: Record | None = None
    raw_record: bytes | None = None
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    memory: Memory = field(default_factory=Memory)
    disturbance: Disturbance = field(default_factory=Disturbance)
    load: Load | None = None
    waits: Waits | None = None
    out_of_turn_cpu_s: float | None = None


def run_child(
    child: Child,
    cell: Mapping[str, Any],
    *,
    limit_s: float | None = None,
    services_cpu_s: Callable[[], float] = lambda: 0.0,
    generator: Client | None = None,
    cpus: Sequence[int] | None = None,
    waits_per_s: float = RATE_PER_S,
    watch: Watch | None = None,
    front: Front | None = None,
    secrets: Collection[str] = (),
    turn: Member[Any] | None = None,
) -> Ending:
    """Run one cell in a fresh process tree; never raises for what the child does.

    `limit_s` limits the run; by default it is warm-up and window plus `LIMIT_S`. A finite run has
    neither, and needs a limit.
    `services_cpu_s` returns the CPU seconds that the services have used so far: no disturbance.
    `generator` is that of a served workload. With `cpus`, the whole tree runs on these.
    `waits_per_s` is how often its threads are sampled; 0: not at all. `watch` is called first at
    each phase of the child, which waits for it. `front` starts what is in front of the servers: it
    takes their URLs and returns those that the load is sent to. `secrets` are hidden in what the
    child says. With `turn` the run takes turns with others; limit and elapsed time count its own
    time alone.
    """
    if limit_s is None:
        limit_s = cell["warmup_s"] + cell["window_s"] + LIMIT_S
    started = time.monotonic()
    own_s: Clock = turn.own_s if turn else lambda: time.monotonic() - started
    run = f"{mark_of_driver()}{time.monotonic_ns()}"
    load = _LoadOfRun(generator, front, apart=cpus is not None)
    sampler = WaitSampler(waits_per_s)

    def beside_cpu_s() -> float:
        return services_cpu_s() + load.cpu_s()

    def on_phase(phase: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        if watch:
            watch(phase, facts)
        sampler.on_phase(phase, facts)
        reply = load.on_phase(phase, facts)
        if phase == "turn" and turn:
            reply = turn.next({**facts, **reply})
            sampler.resume()
        return reply

    try:
        folders = _folders(child)
        ours, theirs = socket.socketpair()
        with ours, theirs, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            probe = Probe(ours, beside_cpu_s, on_phase)
            load.start()
            process = _start(child, run, theirs, out, err, cpus)
            if turn:
                turn.started(process, run, beside_cpu_s)
            document = msgspec.json.encode({**cell, "observer_fd": theirs.fileno()})
            theirs.close()
            try:
                probe.start()
                timed_out = not _feed_and_wait(process, document, limit_s, own_s)
            finally:
                end_tree(process, probe.processes, run)
                load.kill()  # the probe may be waiting for it
                probe.join()
                sampler.end()
            elapsed_s = own_s()
            printed, errors = _tail(out, None), _tail(err, STDERR_KEPT)
            for url in _addresses(child, cell):
                printed, errors = without_address(printed, url), without_address(errors, url)
            hidden = Hiding(secrets, generator.secrets if generator else ())
            printed, errors = hidden.in_record(printed), hidden.in_output(errors)
    # Out of descriptors, disk, processes or threads; no such interpreter.
    except (OSError, RuntimeError) as error:
        reason = f"the child cannot be run: {getattr(error, 'strerror', None) or error}"
        return Ending("crashed", time.monotonic() - started, stderr=reason)
    finally:
        load.close()
    ending = _ending(
        process.returncode, printed, errors, folders, elapsed_s=elapsed_s, timed_out=timed_out
    )
    instants = ending.record.instants_ns if ending.record else None
    return replace(
        ending,
        memory=probe.memory(
            instants.opened if instants else None, instants.closed if instants else None
        ),
        disturbance=_disturbance(probe),
        load=load.result,
        waits=sampler.waits(ending.record),
        out_of_turn_cpu_s=round(turn.out_of_turn_s(), 3) if turn else None,
    )


class _LoadOfRun:
    """Has the generator of a run do its part at each phase of the child."""

    def __init__(
        self, generator: Client | None, front: Front | None = None, *, apart: bool
    ) -> None:
        self.result: Load | None = None
        self._generator = generator
        self._front = front
        self._apart = apart
        self._failure: LoadError | None = None

    def start(self) -> None:
        """Start the generator; a run that needs it fails if that is not possible."""
        if self._generator:
            try:
                self._generator.start()
            except LoadError as error:
                self._failure = error

    def on_phase(self, phase: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Connect when the workers answer, send when there are instants, collect at the end.

        After a slice it returns how long a request took. At the end it returns how many answers
        came in each part of the window, whenever they were due: a child that measures a command
        from outside cannot count them.

        Raises:
            LoadError: one of these failed.
        """
        if self._generator is None:
            if phase == "serving":
                raise LoadError("this run has no load generator")
        elif phase == "serving":
            if self._failure:
                raise self._failure
            urls = self._front(facts["urls"]) if self._front else facts["urls"]
            self._generator.connect(urls, facts["requests"])
        elif phase == "load":
            self._generator.begin(facts["instants_ns"])
        elif phase == "turn":
            return {"request_s": self._generator.pause()}
        elif phase == "resume":
            self._generator.resume()
        elif phase == "closed":
            result = self._generator.result()
            found = cpus_of(facts["pids"]) if self._apart else None
            self.result = msgspec.structs.replace(result, worker_cpus=found)
            return {"answered": [each.received for each in result.windows]}
        return {}

    def cpu_s(self) -> float:
        """CPU seconds of the generator so far."""
        return self._generator.cpu_s() if self._generator else 0.0

    def kill(self) -> None:
        """End the generator's processes; from any thread."""
        if self._generator:
            self._generator.kill()

    def close(self) -> None:
        """End the generator."""
        if self._generator:
            self._generator.close()


def _start(
    child: Child,
    run: str,
    theirs: socket.socket,
    out: IO[bytes],
    err: IO[bytes],
    cpus: Sequence[int] | None,
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [child.program, *child.arguments],
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=err,
        env={**child.environment, RUN: run},
        pass_fds=(theirs.fileno(),),
        start_new_session=True,  # Ctrl-C is the driver's; and the whole tree can be ended
    )
    if cpus is not None:
        with contextlib.suppress(OSError):  # what is read back shows it
            os.sched_setaffinity(process.pid, cpus)
    return process


def _feed_and_wait(
    process: subprocess.Popen[bytes], document: bytes, limit_s: float, own_s: Clock
) -> bool:
    """Send the cell and wait; False if the child took too long, and was asked where it hangs."""
    if process.stdin:
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(document)
    while (left_s := limit_s - own_s()) > 0:  # again where it was stopped in between
        if ended_within(process, max(left_s, LEAST_WAIT_S)):
            return True
    ask_for_stacks(process)
    return False


def _ending(
    code: int,
    printed: bytes,
    errors: bytes,
    folders: Sequence[str],
    *,
    elapsed_s: float,
    timed_out: bool,
) -> Ending:
    """What a child says of its run: by its exit code, its record, its last words."""
    printed = without_paths(printed, folders)
    record = None
    with contextlib.suppress(*UNREADABLE):
        record = decode_record(printed)
    stderr = without_paths(errors if record else _with_garbage(errors, printed), folders)
    return Ending(
        outcome=_outcome(record, code, timed_out=timed_out),
        elapsed_s=elapsed_s,
        record=record,
        raw_record=printed if record else None,
        stderr=stderr.decode(errors="replace"),
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
    )


def _outcome(record: Record | None, code: int, *, timed_out: bool) -> Outcome:
    if timed_out and record is not None and record.outcome == "measured":
        return "measured"  # it hung afterwards: what it had measured is complete
    if timed_out:
        return "timed-out"
    if record is not None and record.outcome == "failed":
        return "failed"
    if code != 0:
        return "crashed"
    return "measured" if record is not None else "garbled"


def _tail(file: IO[bytes], most_bytes: int | None) -> bytes:
    """The last bytes of a file, all of them for None."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0 if most_bytes is None else max(0, size - most_bytes))
    return file.read()


def _with_garbage(errors: bytes, garbage: bytes) -> bytes:
    """Standard error, and what was on standard output instead of a record."""
    if not garbage.strip():
        return errors
    return errors + b"[standard output] " + garbage[:GARBAGE_KEPT]


def _folders(child: Child) -> list[str]:
    """Folders that a child may name: its import path, its environment, its interpreter."""
    program = Path(child.program)
    return [
        *child.environment.get("PYTHONPATH", "").split(os.pathsep),
        *(str(each.parent.parent) for each in (program, program.resolve())),
        str(cache.folder()),
        str(Path.cwd()),
        tempfile.gettempdir(),
    ]


def _addresses(child: Child, cell: Mapping[str, Any]) -> list[str]:
    """What it may name and must not be published: a user's servers, and where ours listen."""
    listens = f"//{cell['address']}" if cell.get("address") else None
    return [each for each in (*map(child.environment.get, URLS), listens) if each]


def _disturbance(probe: Probe) -> Disturbance:
    if {"imported", "closed"} <= set(probe.times):
        ours = probe.cpu_s["closed"] - probe.cpu_s["imported"]
        return disturbance(probe.times["imported"], probe.times["closed"], ours)
    return Disturbance()
