"""The cells that a study can have, and the reasons it cannot have others."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from msgspec.structs import replace

from scaling.builds.arms import parse_arm
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.journal.record import Cell, Description, RefusedCells
from scaling.machine.topology import Topology
from scaling.study.definition import Study, WorkloadEntry
from scaling.study.load import RATE, names_of
from scaling.study.plan.mixed import placed
from scaling.study.plan.refusals import (
    Candidate,
    Limits,
    in_flight,
    most_workers,
    refusal,
    unfit_here,
)


def possible_cells(
    study: Study, descriptions: Mapping[str, Description], topology: Topology, limits: Limits
) -> Iterator[tuple[Cell, str | None]]:
    """All cells of a settled study, each with the reason it cannot be run, or None.

    What is impossible for any number of workers is one cell, of 0 workers.
    """
    for entry in study.workloads:
        most = most_workers(study, entry.name)
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
                under_way = in_flight(facts, cell, most)
                candidate = Candidate(cell, facts, parameters, under_way, limits)
                yield cell, unfit or unfit_here(candidate)


def _places(entry: WorkloadEntry, rates: int) -> Iterator[Cell]:
    """The cells of an entry, with 0 workers; a grid has this number of `rates`.

    A runtime other than Python has only its own loop.
    """
    taken = dict(entry.parameters)
    if RATE in taken:
        taken[RATE] = list(names_of(taken[RATE], rates))
    for arm in entry.arms or ():
        loops = (OWN_LOOP,) if arm in RUNTIMES else entry.loops or ()
        for model, loop, sizing, *values in product(
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
    """The cells that can be run, each once, in order."""
    return tuple(dict.fromkeys(cell for cell, reason in found if reason is None))


def refused(found: Iterable[tuple[Cell, str | None]]) -> tuple[RefusedCells, ...]:
    """The cells that cannot be run; arms with the same reason together."""
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
