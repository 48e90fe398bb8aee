"""The journal: its writer killed at every step, the file cut anywhere or changed.

The study measures nothing: real plan, real journal, real driver, runs made up in no time.
"""

import os
import pickle
import random
import signal
from collections.abc import Callable, Collection, Iterator
from itertools import count
from pathlib import Path

from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.record import CeilingLine, RunLine
from scaling.machine.topology import Topology
from scaling.run.progress import PlainLines
from scaling.run.session import Batch, Done, drive
from scaling.study.file import study_from
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.order import PlannedRun
from tests.faults.checks import After, Fault, Key, Try, checked, key_of, records, wrong
from tests.support.descriptions import description
from tests.support.plans import flagged
from tests.support.runs import with_
from tests.support.studies import FakeStudy

MADE = FakeStudy(ticks=2)
CEILING = CeilingLine(service="site", parameters={"pages": 1}, requests_per_s=1_000.0)
TORN = b'{"kind":"run","cell":{"work'
PLACES = (0.0, 0.01, 0.5, 0.99, 1.0)  # of a line, before the writer is killed
SYNCED = 2.0  # ... or once it is on disk
NEWLINE = ord("\n")
FRAME_EVERY = 10  # of the flipped bytes: a frame takes 20 ms


def _plan() -> Plan:
    """Two blocks of echo with one worker and with two."""
    asked = flagged(
        workload=("echo",), workers=("1,2",), blocks=2, seconds=1.0, controls=False, aa_pairs=False
    )
    study = study_from(asked, running_build="3.14t")
    return make_plan(study, {"3.14t": description()}, Topology(logical_cpus=2, physical_cores=2))


def pretend(run: PlannedRun) -> tuple[RunLine, bytes | None]:
    """A run without fault."""
    line = MADE.run(run.cell, random.Random(run.position))
    return with_(line, block=run.block, position=run.position, attempt=run.attempt), None


PLAN = _plan()
ALL = {key_of(pretend(run)[0]) for run in PLAN.runs}


def do_study(folder: Path, acknowledge: Callable[[Key], object] = lambda key: None) -> None:
    """Do what remains of the study in a folder; each run in the journal is acknowledged.

    Raises:
        ScalingError: the journal cannot be used or written.
    """
    with JournalFile(folder / FILE_NAME) as journal:
        if journal.head is None:
            journal.append(MADE.first_line)
        if not journal.ceilings:
            journal.append(CEILING)

        def acknowledged() -> None:
            for line in journal.runs:
                acknowledge(key_of(line))

        def done(runs: Batch) -> list[Done]:
            acknowledged()
            return [pretend(run) for run in runs]

        drive(PLAN, journal, done, lambda line: None, PlainLines(new_console(quiet=True)))
        acknowledged()


def whole_journal(folder: Path) -> bytes:
    """That of a complete study."""
    do_study(folder)
    return (folder / FILE_NAME).read_bytes()


def resumed(folder: Path, kept: Collection[Key]) -> Try:
    """The same command again: what was `kept` is still there, the rest is made, once."""
    known = [each.name for each in folder.glob("*")]
    before = checked(After(folder, kept, known), started=False)
    try:
        do_study(folder)
    except Exception as error:
        return before | wrong(f"not resumed: {type(error).__name__}: {error}")
    return before or checked(After(folder, ALL), started=False)


def killed_at_every_line(folder: Path) -> Iterator[Try]:
    """SIGKILL before, inside and after each line: study, ceiling, set-aside and run."""
    whole = whole_journal(folder)
    head, ceiling, *_ = whole.splitlines(keepends=True)
    for name, begun in {"new": b"", "resumed": head + ceiling + TORN}.items():
        for number in range(whole.count(b"\n") - begun.count(b"\n") + bool(begun)):
            for place in (*PLACES, SYNCED):
                yield killed(folder / f"{name}-{number}-{place}", begun, number, place)


def killed(folder: Path, begun: bytes, number: int, place: float) -> Try:
    """Kill a writer in its write `number`, after this part of it; then resume without it."""
    folder.mkdir()
    if begun:
        (folder / FILE_NAME).write_bytes(begun)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with os.fdopen(writing, "w", buffering=1) as said:
                _kill_at(number, place)
                do_study(folder, lambda key: print(pickle.dumps(key).hex(), file=said))
        finally:
            os._exit(1)  # whatever happens: the caller is in the other process
    os.close(writing)
    with os.fdopen(reading) as told:
        acknowledged = {pickle.loads(bytes.fromhex(line)) for line in told}
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        return wrong(f"the writer of line {number} was not killed: nothing was tried")
    return resumed(folder, acknowledged)


def _kill_at(number: int, place: float) -> None:
    """Have this process be killed at a write: inside of it, or once it is on disk."""
    write, sync = os.write, os.fsync
    writes, syncs = count(), count()

    def writing(file: int, data: bytes) -> int:
        if next(writes) == number and place <= 1:
            write(file, data[: int(place * len(data))])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(file, data)

    def syncing(file: int) -> None:
        sync(file)
        if next(syncs) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    os.write, os.fsync = writing, syncing  # type: ignore[assignment]


def cut_at_every_byte(folder: Path) -> Iterator[Try]:
    """The journal of a complete study ends after any byte of its last two lines."""
    whole = whole_journal(folder)
    runs = list(records(folder))
    *_, before_last, last = whole.splitlines(keepends=True)
    os.fsync = lambda fd: None  # 60,000 of them would take minutes
    for length in range(len(whole) - len(before_last) - len(last), len(whole)):
        (folder / FILE_NAME).write_bytes(whole[:length])
        # A line is whole without its newline, too.
        gone = 2 - (length >= len(whole) - len(last) - 1) - (length >= len(whole) - 1)
        yield resumed(folder, runs[: len(runs) - gone])


def flipped(folder: Path) -> Iterator[Try]:
    """A bit of each byte of a journal is flipped: it costs no other line than its own.

    A newline belongs to both lines that it separates.
    """
    head, ceiling, *runs = whole_journal(folder).splitlines(keepends=True)
    whole, chance = head + ceiling + b"".join(runs[:2]), random.Random(1)
    path = folder / FILE_NAME
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        harmed = 2 if whole[place] == NEWLINE else 1
        try:
            with JournalFile(path) as journal:  # as a driver that resumes it
                left = len(journal.runs)
            if place % FRAME_EVERY == 0:
                read_journal(folder)
        except ScalingError as error:
            yield wrong(str(error) if place >= len(head) or "\n" in str(error) else "")
        except Exception as error:
            yield {"traceback": [f"{type(error).__name__} at byte {place}: {error}"]}
        else:
            lost = 2 - harmed - left if place >= len(head) else 0
            yield {"lost": [f"flipped byte {place}"] * lost} if lost > 0 else {}


FAULTS: dict[str, Fault] = {
    "driver killed at every line": killed_at_every_line,
    "journal cut at every byte": cut_at_every_byte,
    "journal with a flipped byte": flipped,
}
