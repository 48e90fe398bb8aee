"""The journal: its writer killed at every step, the file cut anywhere or changed, the disk full."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.journal.file import FILE_NAME
from scaling.journal.record import Cell, RunLine
from scaling.study.plan.order import PlannedRun
from tests.faults import namespaces
from tests.faults.attempt import Fault, Try
from tests.faults.left_behind import unexpected
from tests.faults.pretended import do_study, keys_of, plan, pretend
from tests.faults.records import Key, compared, records

PLAN = plan("echo")
ALL = keys_of(PLAN)
TORN = b'{"kind":"run","cell":{"work'
PLACES = (0.0, 0.01, 0.5, 0.99, 1.0)  # of a line, before the writer is killed
SYNCED = 2.0  # ... or once it is on disk


def killed_at_every_line(folder: Path) -> Iterator[Try]:
    """SIGKILL before, inside and after each line: study, ceiling, set-aside and run."""
    whole = _whole(folder)
    head, ceiling, *_ = whole.splitlines(keepends=True)
    for name, begun in {"new": b"", "resumed": head + ceiling + TORN}.items():
        for number in range(whole.count(b"\n") - begun.count(b"\n") + bool(begun)):
            for place in (*PLACES, SYNCED):
                yield killed(folder / f"{name}-{number}-{place}", begun, number, place)


def cut_at_every_byte(folder: Path) -> Iterator[Try]:
    """The journal of a complete study ends after any byte of its last two lines."""
    whole = _whole(folder)
    runs = [*records(folder / FILE_NAME)]
    *_, before_last, last = whole.splitlines(keepends=True)
    os.fsync = lambda fd: None  # 60,000 of them would take minutes
    for kept in range(len(whole) - len(before_last) - len(last), len(whole)):
        (folder / FILE_NAME).write_bytes(whole[:kept])
        # A line is whole without its newline, too.
        left = runs[
            : len(runs) - 2 + (kept >= len(whole) - len(last) - 1) + (kept >= len(whole) - 1)
        ]
        readable = compared(folder / FILE_NAME, left)
        yield readable if not readable.is_clean else _resumed(folder, set(left))


def disk_full(folder: Path) -> Iterator[Try]:
    """The results are on a disk of a few KiB; then there is room."""
    namespaces.own_mounts()
    needed = len(_whole(folder)) // 1024
    for kib in range(4, needed, 4):
        disk = folder / f"{kib}-kib"
        disk.mkdir()
        namespaces.mount_memory(disk, kib)
        acknowledged: set[Key] = set()
        yield _refused(disk / "out", "No space left|the disk took", ScalingError, acknowledged)
        namespaces.mount_memory(disk, 1024)
        yield _resumed(disk / "out", acknowledged)


def folder_read_only(folder: Path) -> Iterator[Try]:
    """Nothing can be written: a new study and one that is to be resumed."""
    namespaces.own_mounts()
    for name, begun in {"new": b"", "begun": _whole(folder)[:-100]}.items():
        place = folder / name
        place.mkdir()
        if begun:
            (place / FILE_NAME).write_bytes(begun)
        namespaces.mount_read_only(place)
        yield _refused(place, "Read-only file system", UsageError)
        if begun and (place / FILE_NAME).read_bytes() != begun:
            yield Try(problem="a journal that cannot be written was changed")


def removed(folder: Path) -> Iterator[Try]:
    """Another program removes the journal, or its folder, or puts another file in its place."""
    yield from _interfered(folder / "file", lambda path: path.unlink())
    yield from _interfered(folder / "folder", _remove_folder)


def replaced(folder: Path) -> Iterator[Try]:
    """Another program moves the journal away; it is put back before the study is resumed."""

    def move(path: Path) -> None:
        path.rename(path.with_suffix(".moved"))

    def put_back(path: Path) -> None:
        path.with_suffix(".moved").rename(path)

    yield from _interfered(folder, move, put_back)


def changed(folder: Path) -> Iterator[Try]:
    """Another program appends to the journal, or cuts off its last line."""

    def append(path: Path) -> None:
        with path.open("ab") as file:
            file.write(TORN)

    def cut(path: Path) -> None:
        os.truncate(path, path.stat().st_size - 10)

    yield from _interfered(folder / "append", append)
    yield from _interfered(folder / "cut", cut, harmed=1)


def two_drivers(folder: Path) -> Iterator[Try]:
    """A second study is started on a folder at every run of the first."""

    def another(run: PlannedRun) -> tuple[RunLine, bytes | None]:
        second.append(_refused(folder, "being written by another study", UsageError))
        return pretend(run)

    second: list[Try] = []
    do_study(folder, PLAN, another)
    yield from second
    yield compared(folder / FILE_NAME, ALL)


def killed(folder: Path, begun: bytes, number: int, place: float) -> Try:
    """Kill a writer in its write `number`, after this part of it; then resume without it."""
    folder.mkdir()
    if begun:
        (folder / FILE_NAME).write_bytes(begun)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        with os.fdopen(writing, "w", buffering=1) as said:
            _kill_at(number, place)
            do_study(folder, PLAN, acknowledge=lambda key: print(_text(key), file=said))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        acknowledged = {msgspec.json.decode(line, type=tuple[int, Cell, int]) for line in told}
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        return Try(problem=f"the writer of line {number} was not killed: nothing was tried")
    return _resumed(folder, acknowledged)


def _whole(folder: Path) -> bytes:
    do_study(folder, PLAN)
    return (folder / FILE_NAME).read_bytes()


def _text(key: Key) -> str:
    return msgspec.json.encode(key).decode()


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


def _resumed(folder: Path, acknowledged: set[Key] | None = None) -> Try:
    """The same command again: what was acknowledged is still there, the rest is made, once."""
    journal = folder / FILE_NAME
    before = records(journal) if acknowledged else {}
    lost = len((acknowledged or set()) - set(before))
    try:
        do_study(folder, PLAN)
    except Exception as error:
        return Try(problem=f"not resumed: {error}", lost=lost)
    found = compared(journal, ALL)
    return Try(
        problem=found.problem,
        lost=lost + found.lost,
        doubled=found.doubled,
        files=len(unexpected(folder, [FILE_NAME])),
    )


def _refused(
    folder: Path, words: str, kind: type[ScalingError], acknowledged: set[Key] | None = None
) -> Try:
    """A study that cannot be measured says why, in one of these `words`, and keeps what it has."""
    kept = set() if acknowledged is None else acknowledged
    try:
        do_study(folder, PLAN, acknowledge=kept.add)
    except kind as error:
        if any(each in str(error) for each in words.split("|")):
            return Try()
        return Try(problem=f"another message: {error}")
    except Exception as error:
        return Try(problem=f"{type(error).__name__}: {error}")
    return Try(problem=f"nothing was refused, although: {words}")


def _interfered(
    folder: Path,
    do: Callable[[Path], object],
    mend: Callable[[Path], object] = lambda path: None,
    harmed: int = 0,
) -> Iterator[Try]:
    """Another program does something to the journal before any run; then the study is resumed.

    `harmed` is how many records that program destroys, which are made again.
    """
    for number in range(len(PLAN.runs)):
        place = folder / f"at-{number}"
        journal, runs = place / FILE_NAME, count()
        acknowledged: set[Key] = set()

        def execute(
            run: PlannedRun,
            *,
            number: int = number,
            journal: Path = journal,
            runs: Iterator[int] = runs,
        ) -> tuple[RunLine, bytes | None]:
            if next(runs) == number:
                do(journal)
            return pretend(run)

        try:
            do_study(place, PLAN, execute, acknowledged.add)
            yield Try(problem="nobody noticed that the journal was changed")
        except ScalingError:
            mend(journal)
        with suppress(ScalingError, OSError):
            there = set(records(journal))
            acknowledged = acknowledged if len(acknowledged - there) > harmed else there
        yield _resumed(place, acknowledged)


def _remove_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


FAULTS: dict[str, Fault] = {
    "driver killed at every line": killed_at_every_line,
    "journal cut at every byte": cut_at_every_byte,
    "disk full": disk_full,
    "folder read-only": folder_read_only,
    "journal removed": removed,
    "journal replaced": replaced,
    "journal changed": changed,
    "two drivers": two_drivers,
}
