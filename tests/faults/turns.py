"""Runs that take turns: a full disk, quotas, no watcher, and children that go wrong in a group."""

import contextlib
import errno
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME
from scaling.journal.record import Cell, Disturbance, RunLine
from scaling.run import alternation
from tests.faults import namespaces
from tests.faults.attempt import Fault, Try
from tests.faults.child import OWN, judged_children
from tests.faults.drivers import PATIENCE_S, finished, running, start, study
from tests.faults.kills import TURNS, both_models
from tests.faults.quota import quota
from tests.faults.records import judged, latest

ROOM_KIB = (16, 32, 64, 128)
THROTTLED_S = 0.5
FEW_CPUS = 0.3  # less than two workers get on a machine that is busy besides
WAYS = ("segfault", "exit", "endless", "deadlock", "fork", "daemon")


def disk_full(folder: Path) -> Iterator[Try]:
    """The results of a group find no room, or some of them; then there is room."""
    namespaces.own_mounts()
    with study(**TURNS) as ready:
        for kib in ROOM_KIB:
            disk = folder / f"{kib}-kib"
            disk.mkdir()
            namespaces.mount_memory(disk, kib)
            yield finished(start(ready, disk), codes=(0, 1, 2))
            namespaces.mount_memory(disk, 16_384)
            yield finished(start(ready, disk))
            yield both_models(disk)


def throttled(folder: Path) -> Iterator[Try]:
    """A quota held the first group back, say the counters: all of it is made again."""
    real = vars(alternation)["disturbance"]
    seen: list[Disturbance] = []

    def held_back(*given: Any) -> Disturbance:
        seen.append(real(*given))
        return msgspec.structs.replace(seen[-1], throttled_s=0.0 if seen[1:] else THROTTLED_S)

    with study(**TURNS) as ready:
        driver = start(ready, folder, lambda: vars(alternation).update(disturbance=held_back))
        yield finished(driver)
        yield made_again(folder)
        yield both_models(folder)


def made_again(folder: Path) -> Try:
    """A quota held back a group, whose runs are all invalid and were all made again.

    Some of them may not even have come to their end in time.
    """
    found = judged(folder)
    blocks = {line.block for line, why in found if why and "quota" in why}
    first = {keyed(line) for line, why in found if why and line.attempt == 1}
    again = {keyed(line) for line, _ in found if line.attempt > 1}
    whole = len(first) == len(blocks) * len(TURNS["model"]) > 0 and again == first
    return Try(problem="" if whole else f"held back: {len(first)}, again: {len(again)}")


def keyed(line: RunLine) -> tuple[int, Cell]:
    """Which planned run it is."""
    return line.block, line.cell


def quota_granted(folder: Path) -> Iterator[Try]:
    """A real quota holds back the first group, whichever of its runs has the turn; then none does.

    A slice is about as long as a quota's period, so that the one that used it up is not the only
    one that is throttled.
    """
    with (
        quota() as granted,
        study(**TURNS) as ready,
        running(start(ready, folder, granted.enter)) as driver,  # no group is removed before
    ):
        driver.wait_for_window(len(TURNS["model"]))  # all of them are alive, and slices begin
        granted.grant(FEW_CPUS)
        deadline = time.monotonic() + PATIENCE_S
        while not runs_in(folder) and not driver.wait(0) and time.monotonic() < deadline:
            time.sleep(0.01)
        granted.grant(None)
        yield finished(driver)
        yield made_again(folder)
        throttled_s = [line.disturbance.throttled_s for line, _ in judged(folder)]
        yield Try(problem="" if any(throttled_s) else "the quota is in no record")
        left = [why for _, why in latest(folder) if why and "quota" in why]
        yield Try(problem=f"still held back without a quota: {left}" if left else "")
        yield both_models(folder)


def runs_in(folder: Path) -> int:
    """How many runs its journal has so far."""
    if not (folder / FILE_NAME).exists():
        return 0
    with contextlib.suppress(ScalingError):
        return len(judged(folder))
    return 0


def no_watcher(folder: Path) -> Iterator[Try]:
    """No process can be started to watch over runs that are stopped, so none is."""

    def refuse(*given: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with study(**TURNS) as ready:
        yield finished(start(ready, folder, lambda: vars(alternation).update(Watcher=refuse)))
        silent = [line for line, _ in judged(folder) if "watch over" not in (line.alone or "")]
        yield Try(problem=f"{len(silent)} runs do not say why they were alone" if silent else "")
        yield both_models(folder)


def child(way: str) -> Fault:
    """A child that goes wrong in the slice of its window, or while others wait for their turn."""

    def tries(folder: Path) -> Iterator[Try]:
        sets = (f"faulty:FaultyInTurn.way=fine,{way}", "faulty:FaultyInTurn.when=setup,window")
        asked: dict[str, Any] = {**TURNS, "workload": ("faulty:FaultyInTurn",), "set": sets}
        with study(own=[OWN], **{**asked, "blocks": 1}) as ready:
            yield finished(start(ready, folder))
            yield from judged_children(folder, len(ready.plan.runs))
            groups = {line.group for line, _ in judged(folder)} - {None}
            yield Try(problem="" if groups else "no runs took turns")

    return tries


FAULTS: dict[str, Fault] = {
    "disk full in a group": disk_full,
    "throttled in a group": throttled,
    "quota for a group": quota_granted,
    "no watcher": no_watcher,
    **{f"child in a group: {way}": child(way) for way in WAYS},
}
