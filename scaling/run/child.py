"""One run in a fresh child process: observed, limited in time, its outcome always reported."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import msgspec

from scaling.base.errors import ScalingError
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
from scaling.run.alternation import Member
from scaling.run.load_client import Client, LoadError
from scaling.run.probe import ENDED, IN_TURN, QUIET, Observer, Phase, Probe
from scaling.run.process_tree import RUN, Tree, ask_for_stacks, end_tree, mark_of_driver
from scaling.run.redaction import Hiding, without_address, without_paths
from scaling.run.services import ServiceUsage
from scaling.run.wait_sampler import WaitSampler
from scaling.run.waiting import Lines, ended, send

# Beyond warm-up and window: starting many workers, stopping loops that compete for the GIL. The
# child's own limits per phase are shorter, so that it can report itself which phase hangs.
LIMIT_S = 200.0
LEAST_WAIT_S = 0.05
STDERR_KEPT = 20_000  # bytes, from the end, where tracebacks are
GARBAGE_KEPT = 2_000  # bytes, from the beginning, which shows what it is


@dataclass(frozen=True)
class Child:
    """The start of a child: its interpreter (or other program) and its environment variables."""

    program: str
    environment: Mapping[str, str]
    arguments: tuple[str, ...] = ("-m", "workers")


@dataclass(frozen=True)
class Run:
    """A cell that is to be run once, and what is beside the child.

    `limit_s` limits the run; by default it is warm-up and window plus `LIMIT_S`. A finite run has
    neither, and needs a limit. `client` loads a served workload. With `cpus`, the whole process
    tree runs on these. Each of `observers` looks at every phase. `secrets` are hidden in what the
    child says.
    """

    child: Child
    cell: Mapping[str, Any]
    limit_s: float | None = None
    services: ServiceUsage | None = None
    client: Client | None = None
    cpus: Sequence[int] | None = None
    observers: Sequence[Observer] = ()
    secrets: Collection[str] = ()


@dataclass(frozen=True)
class Ending:
    """The end of a run, and measures from outside: fields of its line (`RunLine`), and the record
    as it was printed.
    """

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


def run_child(run: Run) -> Ending:
    """Run one cell in a fresh process tree; never raises for what the child does."""
    return asyncio.run(observed(run))


async def observed(run: Run, turn: Member[Any] | None = None) -> Ending:
    """Run one cell as `run_child` does.

    With `turn` the run takes turns with others; limit and elapsed time count its own time alone.
    """
    return await _Observed(run, turn).ending()


class _Observed:
    """A run under way: the child, its load, and all that looks at them."""

    def __init__(self, run: Run, turn: Member[Any] | None) -> None:
        self._run = run
        self._turn = turn
        self._began_s = time.monotonic()
        self._mark = f"{mark_of_driver()}{time.monotonic_ns()}"
        self._probe = Probe(self._other_cpu_s)
        self._waits = WaitSampler()
        services: list[Observer] = [run.services] if run.services else []
        self._failure = ""  # of the driver's own part, where the child cannot be told
        # The sampler is paused before the probe reads memory, which takes long.
        own: list[Observer] = [self._waits, self._probe]
        self._observers = [*own, *services, *run.observers]

    async def ending(self) -> Ending:
        """Start the child and wait for its end; say how it was."""
        try:
            with ExitStack() as stack:
                if client := self._run.client:
                    stack.callback(client.close)
                ours, theirs = map(stack.enter_context, socket.socketpair())
                out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
                if client:
                    client.start()
                process = self._start(theirs, out, err)
                cell = {**self._run.cell, "observer_fd": theirs.fileno()}
                theirs.close()
                in_time = await self._until_the_end(process, ours, msgspec.json.encode(cell))
                elapsed_s, said = self._own_s(), self._said(out, err)
        # Out of descriptors, disk or processes; no such interpreter.
        except OSError as error:
            reason = f"the child cannot be run: {error.strerror or error}"
            return Ending("crashed", round(time.monotonic() - self._began_s, 3), stderr=reason)
        folders = _folders(self._run.child)
        found = _ending(
            process.returncode, *said, folders, elapsed_s=elapsed_s, timed_out=not in_time
        )
        return replace(
            found,
            outcome="crashed" if self._failure else found.outcome,
            memory=self._probe.memory(found.record.instants_ns if found.record else None),
            disturbance=self._probe.disturbance(),
            load=self._run.client.result if self._run.client else None,
            waits=self._waits.waits(found.record),
            out_of_turn_cpu_s=round(self._turn.out_of_turn_s, 3) if self._turn else None,
        )

    def _own_s(self) -> float:
        return self._turn.own_s() if self._turn else time.monotonic() - self._began_s

    def _other_cpu_s(self) -> float:
        return sum(each.cpu_s() for each in (self._run.client, self._run.services) if each)

    def _start(
        self, theirs: socket.socket, out: IO[bytes], err: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        child = self._run.child
        process = subprocess.Popen(
            [child.program, *child.arguments],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={**child.environment, RUN: self._mark},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # Ctrl-C is the driver's; and the whole tree can be ended
        )
        if self._run.cpus is not None:
            with contextlib.suppress(OSError):  # what is read back shows it
                os.sched_setaffinity(process.pid, self._run.cpus)
        if self._turn:
            self._turn.started(Tree(process.pid, self._mark), self._other_cpu_s)
        return process

    async def _until_the_end(
        self, process: subprocess.Popen[bytes], ours: socket.socket, cell: bytes
    ) -> bool:
        """Wait for the end of the child, and end all that is left of the run.

        Returns False if the child took too long, and was asked where it hangs.
        """
        talking = asyncio.create_task(self._talk_or_end(process, ours, cell))
        try:
            return await self._ends_in_time(process)
        finally:
            try:
                end_tree(process, self._probe.processes, self._mark)
            finally:
                if self._run.client:
                    self._run.client.stop()
                talking.cancel()
                try:
                    self._look(Phase(ENDED))
                except Exception as error:
                    self._fail(error)
                await asyncio.wait((talking,))

    async def _ends_in_time(self, process: subprocess.Popen[bytes]) -> bool:
        limit_s = self._run.limit_s
        if limit_s is None:
            limit_s = self._run.cell["warmup_s"] + self._run.cell["window_s"] + LIMIT_S
        while (left_s := limit_s - self._own_s()) > 0:  # again where it was stopped in between
            if await ended(process, max(left_s, LEAST_WAIT_S)):
                process.wait()
                return True
        ask_for_stacks(process)
        return False

    async def _talk_or_end(
        self, process: subprocess.Popen[bytes], ours: socket.socket, cell: bytes
    ) -> None:
        """Talk with the child; end it at once if that fails, since nothing would reply to it."""
        try:
            await self._talk(process, ours, cell)
        except Exception as error:
            self._fail(error)
            process.kill()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or _words(error)

    async def _talk(
        self, process: subprocess.Popen[bytes], ours: socket.socket, cell: bytes
    ) -> None:
        """Send the cell, and reply to each phase once all is done that belongs to it."""
        if process.stdin:
            await send(process.stdin.fileno(), cell)
            process.stdin.close()
        lines = Lines(ours.fileno())
        while True:
            try:
                line = await lines.next(self._probe.every_s)
            except TimeoutError:
                self._look(Phase(QUIET))
                continue
            if line is None:
                return
            try:
                reply = await self._reply(json.loads(line))
            except Exception as error:
                reply = {"failed": _words(error)}
            with contextlib.suppress(OSError):  # it is gone: there is no next line
                ours.sendall(json.dumps(reply).encode() + b"\n")

    async def _reply(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Do what belongs to a phase, and return what to reply."""
        phase = Phase(facts["phase"], facts)
        self._look(phase)
        reply = await self._send_load(phase)
        if phase.name == "turn" and self._turn:
            reply = await self._turn.next({**facts, **reply})
            self._look(Phase(IN_TURN))
        return reply

    async def _send_load(self, phase: Phase) -> dict[str, Any]:
        """Have the client do its part; what is in front of the servers is started before it."""
        client, services = self._run.client, self._run.services
        if phase.name == "serving":
            if client is None:
                raise LoadError("this run has no load generator")
            if services and services.front:
                urls = await asyncio.to_thread(services.front, phase.facts["urls"])
                phase = Phase(phase.name, {**phase.facts, "urls": urls})
        return await client.at(phase) if client else {}

    def _look(self, phase: Phase) -> None:
        for each in self._observers:
            each.at(phase)

    def _said(self, out: IO[bytes], err: IO[bytes]) -> tuple[bytes, bytes]:
        """The output of the child, as a record and as errors, without what must not be shown."""
        printed, errors = _tail(out, None), _tail(err, STDERR_KEPT)
        if self._failure:
            errors = self._failure.encode() + b"\n" + errors
        for url in _addresses(self._run.child, self._run.cell):
            printed, errors = without_address(printed, url), without_address(errors, url)
        client = self._run.client
        hidden = Hiding(self._run.secrets, client.secrets if client else ())
        return hidden.in_record(printed), hidden.in_output(errors)


def _words(error: Exception) -> str:
    """An error of the driver in the words of a run's failure."""
    known = isinstance(error, ScalingError | OSError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _ending(
    code: int,
    printed: bytes,
    errors: bytes,
    folders: Sequence[str],
    *,
    elapsed_s: float,
    timed_out: bool,
) -> Ending:
    """The end of a run by its child's exit code, its record, its last words."""
    printed = without_paths(printed, folders)
    record = None
    with contextlib.suppress(*UNREADABLE):
        record = decode_record(printed)
    stderr = without_paths(errors if record else _with_garbage(errors, printed), folders)
    return Ending(
        outcome=_outcome(record, code, timed_out=timed_out),
        elapsed_s=round(elapsed_s, 3),
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
    """Addresses that must not be published: a user's servers, and where ours listen."""
    listens = f"//{cell['address']}" if cell.get("address") else None
    return [each for each in (*map(child.environment.get, URLS), listens) if each]
