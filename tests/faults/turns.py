"""Runs that take turns: a full disk, a quota, no watcher, and children that go wrong in a group."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scaling.journal.record import Disturbance
from scaling.run import alternation
from tests.faults import namespaces
from tests.faults.attempt import Fault, Try
from tests.faults.child import OWN, judged_children
from tests.faults.drivers import finished, start, study
from tests.faults.judged import judged
from tests.faults.kills import TURNS, both_models

ROOM_KIB = (16, 32, 64, 128)
THROTTLED_S = 0.5
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
        found = judged(folder)
        first = {line.cell for line, why in found if why and "quota" in why}
        again = {line.cell for line, _ in found if line.attempt > 1 and line.cell in first}
        whole = len(first) == len(TURNS["model"]) and again == first
        yield Try(problem="" if whole else f"held back: {len(first)}, again: {len(again)}")
        yield both_models(folder)


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
    "no watcher": no_watcher,
    **{f"child in a group: {way}": child(way) for way in WAYS},
}
