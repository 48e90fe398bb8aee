"""The cells that a study can have, and why it cannot have others."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from scaling.builds.arms import parse_arm
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.journal.record import Cell, Description, RefusedCells, WorkloadFacts
from scaling.machine.topology import Topology
from scaling.study.definition import Study, WorkloadEntry
from scaling.study.load import RATE, names_of
from scaling.study.plan.groups import memory_bytes
from scaling.study.plan.mixed import placed
from scaling.study.plan.refusals import (
    held_bytes,
    in_flight,
    most_workers,
    refusal,
    too_few_for_each,
    too_few_ports,
    too_many_connections,
    too_many_open_files,
    too_much_memory,
    unfit_for_rooms,
)


class Limits(NamedTuple):
    """Of a machine: how many `open_files` a process may have at most, how many `ports` an address
    has for connections to one port of another (None: no limit), and bytes of memory: no cell keeps
    more of it than the plan allows (`scaling.study.plan.refusals`).
    """

    open_files: int | None
    ports: int | None
    memory_bytes: float


def needed_bytes(cell: Cell, facts: WorkloadFacts) -> int:
    """The bytes of memory that a run may need at most."""
    parameters = {**cell.parameters, **parse_arm(cell.arm).parameters}
    return memory_bytes(cell, facts, held_bytes(facts, cell, parameters))


def possible_cells(
    study: Study, descriptions: Mapping[str, Description], topology: Topology, limits: Limits
) -> Iterator[tuple[Cell, str | None]]:
    """All cells of a settled study, and why it cannot have some. What no number of workers can have
    is one cell.
    """
    for entry in study.workloads:
        for place in _places(entry, study.rates):
            arm = parse_arm(place.arm)
            parameters = {**place.parameters, **arm.parameters}
            run = replace(place, loop=arm.loop(place.loop), parameters=parameters)
            reason = arm.unfit(place) or refusal(descriptions[place.arm], run)
            if reason is not None:
                yield place, reason
                continue
            facts = descriptions[place.arm].workloads[entry.name]
            for workers in entry.counts:
                model, unfit = placed(place.model, workers, topology)
                cell = replace(place, model=model, workers=workers)
                if unfit:
                    yield cell, unfit
                    continue
                under_way = in_flight(facts, cell, most_workers(study, entry.name))
                reason = (
                    too_few_for_each(facts, cell)
                    or unfit_for_rooms(cell, under_way)
                    or too_many_connections(facts, cell, under_way)
                    or too_many_open_files(facts, cell, under_way, limits.open_files)
                    or too_few_ports(facts, cell, under_way, limits.ports)
                    or too_much_memory(facts, cell, run.parameters, limits.memory_bytes)
                )
                yield cell, reason


def _places(entry: WorkloadEntry, rates: int) -> Iterator[Cell]:
    """The cells of an entry, with 0 workers; a grid has so many `rates`.

    A runtime other than Python has only its own loop.
    """
    taken = dict(entry.parameters)
    if RATE in taken:
        taken[RATE] = list(names_of(taken[RATE], rates))
    for arm in entry.arms or ():
        loops = (OWN_LOOP,) if arm in RUNTIMES else entry.loops or ()
        for model, loop, sizing, *values in itertools.product(
            entry.models or (), loops, entry.sizing or (), *taken.values()
        ):
            yield Cell(
                workload=entry.name,
                model=model,
                loop=loop,
                sizing=sizing,
                arm=arm,
                parameters=dict(zip(taken, values, strict=True)),
                workers=0,
            )


def distinct(found: Iterable[tuple[Cell, str | None]]) -> tuple[Cell, ...]:
    """The cells that can be run, each once, in the order in which they first come."""
    return tuple(dict.fromkeys(cell for cell, reason in found if reason is None))


def refused(found: Iterable[tuple[Cell, str | None]]) -> tuple[RefusedCells, ...]:
    """What cannot be run, and why: once for all arms of which the same is said."""
    arms: dict[tuple[str, ...], dict[str, None]] = {}
    for cell, reason in found:
        if reason is not None:
            key = (cell.workload, cell.model, cell.loop, cell.sizing, reason)
            arms.setdefault(key, {})[cell.arm] = None
    return tuple(
        RefusedCells(
            workload=workload,
            arms=tuple(names),
            model=model,
            loop=loop,
            sizing=sizing,
            reason=reason,
        )
        for (workload, model, loop, sizing, reason), names in arms.items()
    )
