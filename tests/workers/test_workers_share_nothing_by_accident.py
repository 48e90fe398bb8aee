"""Two workers of one process have no object that changes in common, but for what is meant to be."""

import asyncio
import os
from array import array
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Any

import pytest

from tests.support.children import PATIENCE_S
from workers import Worker
from workers.cell import Cell
from workers.host.inbound import Inbound
from workers.loops import runner_for
from workers.system import socket_of
from workers.worker import session, shared
from workers.worker.workload import built_in, load_workload
from workers.workloads.gather import Gather
from workers.workloads.parts import rooms

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

WORKERS = 2
LIMIT_S = PATIENCE_S / 2  # of a set-up, and of a teardown
NOT_ALONE = {"app", "fetch", "gateway", "scrape", "web"}  # need an application, or a service
# Attributes that lead to what workers of a process are meant to share.
ON_PURPOSE = {
    *("_cache", "_misses"),  # one cache of all threads
    *("_state", "_part", "_drawn"),  # one state, and the keys that were drawn for it
    *("_meeting", "_others"),  # the way to other loops
}
SMALL: dict[str, dict[str, Any]] = {
    **{key: {"keys": 1000, "entries": 100} for key in ("cache", "serve-cache")},
    **{key: {"objects": 1000} for key in ("state", "state-pass", "serve-state")},
}
CHANGES: tuple[type, ...] = (
    *(list, dict, set, deque, array, bytearray, Random),
    bytes,  # with its reference count
    *(asyncio.Event, asyncio.Future, asyncio.Lock, asyncio.Queue),
)
LOOKED_INTO: tuple[type, ...] = (tuple, *CHANGES)


def is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "workers"


def belonging_to(*owners: object) -> dict[int, object]:
    """What changes of all that these hold, by identity: objects of our classes, and `CHANGES`."""
    found: dict[int, object] = {}
    waiting = [*owners]
    while waiting:
        each = waiting.pop()
        if id(each) in found or not (is_ours(type(each)) or isinstance(each, LOOKED_INTO)):
            continue
        found[id(each)] = each
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple | set | deque):
            waiting += each
        elif is_ours(type(each)):
            waiting += attributes_of(each)
    return {number: each for number, each in found.items() if not is_one_for_all(each)}


def is_one_for_all(each: object) -> bool:
    """Whether it cannot change, or CPython has only one like it."""
    return isinstance(each, tuple) or (isinstance(each, bytes) and len(each) < 2)


def attributes_of(owner: object) -> Iterator[object]:
    """Values of its attributes, and of those of its classes that change."""
    for kind in filter(is_ours, type(owner).__mro__):
        of_class = vars(kind)
        for name in of_class.get("__slots__", ()):
            yield getattr(owner, name, None)
        for name, value in of_class.items():
            if isinstance(value, CHANGES) and not name.startswith("__"):
                yield value
    for name, value in getattr(owner, "__dict__", {}).items():
        if name not in ON_PURPOSE:
            yield value


def set_up(cell: Cell, inbound: Inbound | None, index: int) -> dict[int, object]:
    """What belongs to a worker in a thread, once it has set up its workload; then it ends."""
    workload, worker = session.load(cell), Worker(index, WORKERS, {})
    if inbound:
        worker.inbound = inbound.policy, socket_of(os.dup(inbound.descriptor(index)))

    async def life() -> dict[int, object]:
        try:
            await asyncio.wait_for(workload.setup(worker), LIMIT_S)
            return belonging_to(workload, worker)
        finally:
            worker.stop()
            await asyncio.wait_for(workload.teardown(worker), LIMIT_S)

    return runner_for(cell.loop).run(life)


def in_common(name: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What changes and belongs to both of two workers, which are made as the host makes them."""
    monkeypatch.setattr(session, "raise_limit", lambda: None)
    for registry in ("_made", "_meetings"):
        monkeypatch.setattr(shared, registry, {})
    monkeypatch.setattr(rooms, "_of_process", {})
    cell = Cell(workload=name, parameters=SMALL.get(name, {}), workers=WORKERS)
    workload = session.load(cell)
    policy = getattr(workload, "accept", "port")
    inbound = Inbound(policy, WORKERS) if workload.served else None
    try:
        with ThreadPoolExecutor(WORKERS) as threads:
            one, other = threads.map(partial(set_up, cell, inbound), range(WORKERS))
    finally:
        if inbound:
            inbound.close()
    return [each for number, each in one.items() if number in other]


@pytest.mark.parametrize("name", [each for each in built_in() if each not in NOT_ALONE])
def test_nothing_that_changes_belongs_to_both(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_common(name, monkeypatch) == []


def test_what_belongs_to_both_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, buffer = [7], bytearray(1)

    async def setup(workload: Gather, _worker: Worker) -> None:
        workload._expected = expected

    monkeypatch.setattr(Gather, "setup", setup)
    monkeypatch.setattr(Gather, "buffer", buffer, raising=False)
    found = in_common("gather", monkeypatch)
    assert len(found) == 2
    assert expected in found
    assert buffer in found


def test_every_workload_is_looked_at_that_needs_nothing() -> None:
    asking = {name for name in built_in() if load_workload(name).services}
    assert asking | {"app"} == NOT_ALONE
