"""The plan: which cells a study has, which it cannot have and why, in what order, at what cost."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.journal.record import (
    SCHEMA,
    Calibration,
    Cell,
    Description,
    RefusedCells,
    WorkloadFacts,
)
from scaling.machine.topology import Topology, cpu_order, pinning, worker_counts
from scaling.study.controls import least_window_s, with_controls, without_controls
from scaling.study.definition import Study, WorkloadEntry
from scaling.study.load import (
    RATE,
    Needed,
    at_rates,
    calibrations_for,
    names_of,
    require_possible_overload,
)
from scaling.study.plan.groups import (
    HAND_OVER_S,
    NOT_ASKED,
    NOT_COMPARED,
    TOO_LARGE,
    Group,
    groups,
    memory_bytes,
    most_together,
    pairs,
    slice_s,
    why_alone,
)
from scaling.study.plan.order import (
    IN_GROUPS,
    ORDER,
    PlannedRun,
    one_block,
    repeats_of,
    twins_of_gains,
)
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
from scaling.study.settle import facts_of, settle

# What a run costs besides warm-up and window, until it is known from runs of this study: starting,
# imports, closing and recording. On two 2.5 GHz cores it was 0.15 s with the standard library
# alone, 0.6 s with aiohttp and four workers, 0.27 s on average; slower machines need twice as much.
EXPECTED_OVERHEAD_S = 0.5
# Of a served run: the server's packages are imported and a load generator is connected, too. Beside
# other load it was 0.8 to 1.1 s for TCP, 0.9 to 1.5 s for ASGI, 1.4 to 2.6 s for FastAPI.
SERVED_OVERHEAD_S = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A settled study's cells. `workloads` has the facts of each workload of the study, by name.

    The first `asked` of the cells are what the study asks for; the others are the controls that
    were added to it. `repeats` are the second cells of the A/A pairs. The cells of each of the
    `groups` are measured in turn. `alone` says of cells that are in none why. `needs` are the bytes
    of memory that a run of a cell may need at most. `fitted` says what was left out of the study so
    that it fits a time.
    """

    study: Study
    cells: tuple[Cell, ...]
    asked: int
    repeats: tuple[Cell, ...]
    refused: tuple[RefusedCells, ...]
    workloads: Mapping[str, WorkloadFacts]
    groups: tuple[Group, ...] = ()
    needs: Mapping[Cell, int] = field(default_factory=dict)
    alone: Mapping[Cell, str] = field(default_factory=dict)
    fitted: str = ""

    @property
    def runs(self) -> list[PlannedRun]:
        """Every run in the order in which it is to be done."""
        return [run for number in range(self.study.blocks) for run in self.block(number)]

    def block(self, number: int) -> list[PlannedRun]:
        """The runs of one block; the first is number 0."""
        cells, seed = self.every_cell, self.study.seed
        return list(one_block(cells, number, seed, self.groups))

    def together(self, runs: Iterable[PlannedRun]) -> list[tuple[PlannedRun, ...]]:
        """The runs of a group in a block together, every other run by itself; in their order."""
        places = enumerate(self.groups)
        number = {cell: place for place, group in places for cell in group}
        gathered: dict[object, list[PlannedRun]] = {}
        for run in runs:
            together = number.get(run.cell, run.cell)
            gathered.setdefault((run.block, together), []).append(run)
        return [tuple(each) for each in gathered.values()]

    @property
    def order(self) -> int:
        """Which order of the runs it is, for the journal."""
        return IN_GROUPS if self.groups else ORDER

    @property
    def every_cell(self) -> tuple[Cell, ...]:
        """What each block consists of: the cells, some of them twice (A/A pairs)."""
        return (*self.cells, *self.repeats)

    def window_s(self, cell: Cell) -> float:
        """Seconds of a run that count, unless it ends when its work is done.

        Controls that were added to the study, or that end it as if they were, have no more than
        they need.
        """
        most_s = self.study.window_s
        least_s = least_window_s(most_s, cell)
        own = least_s < most_s and any(
            each.workload == cell.workload for each in self.cells[: self.asked]
        )
        return most_s if own else least_s

    def inside_s(self, cell: Cell) -> float | None:
        """Seconds of warm-up and window in a run; None where it ends when its work is done."""
        if self.workloads[cell.workload].finite:
            return None
        return self.study.warmup_s + self.window_s(cell)

    def overhead_s(self, cell: Cell) -> float:
        """Seconds that a run is expected to take besides."""
        served = self.workloads[cell.workload].served
        between_s = 0.0
        if any(cell in group for group in self.groups):
            window_s = self.window_s(cell)
            between_s = HAND_OVER_S * window_s / slice_s(window_s)
        return between_s + (SERVED_OVERHEAD_S if served else EXPECTED_OVERHEAD_S)

    def expected_s(self, cell: Cell) -> float | None:
        """Seconds that a run is expected to take; None where it ends when its work is done."""
        inside_s = self.inside_s(cell)
        return None if inside_s is None else inside_s + self.overhead_s(cell)

    @property
    def calibrations(self) -> list[Needed]:
        """What has to be calibrated before the first run, since its rates are not known."""
        return calibrations_for(self.cells)

    def at_rates(self, calibrations: Iterable[Calibration]) -> "Plan":
        """The plan with the rates of these calibrations."""
        known = list(calibrations)
        return replace(
            self,
            cells=at_rates(self.cells, known),
            asked=len(at_rates(self.cells[: self.asked], known)),
            repeats=at_rates(self.repeats, known),
            alone={at_rates([cell], known)[0]: why for cell, why in self.alone.items()},
        )

    def in_flight(self, cell: Cell) -> int | None:
        """Work in flight over all workers; None where the workload has no parameter for it."""
        return in_flight(
            self.workloads[cell.workload], cell, most_workers(self.study, cell.workload)
        )

    def document(
        self,
        cell: Cell,
        *,
        ticks: int,
        services: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, object]:
        """The JSON document that a child measures `cell` by.

        The window is cut into `ticks` parts; `services` has the addresses of each service.
        """
        arm = parse_arm(cell.arm)
        return {
            "schema": SCHEMA,
            "workload": self.workloads[cell.workload].path,
            "parameters": {**cell.parameters, **arm.parameters},
            "loop": cell.loop,
            "model": cell.model,
            "workers": cell.workers,
            "in_flight": self.in_flight(cell),
            "warmup_s": self.study.warmup_s,
            "window_s": self.window_s(cell),
            "ticks": ticks,
            "services": {name: list(urls) for name, urls in (services or {}).items()},
            "pinning": cell.pinning,
            **arm.cell_fields,
        }

    def require_cells(self) -> None:
        """Make sure that at least one of the study's own cells can be run.

        Raises:
            UsageError: every cell is refused; says the reasons.
        """
        if not self.asked:
            found = dict.fromkeys(f"{each.workload}: {each.reason}" for each in self.refused)
            first, rest = list(found)[:2], list(found)[2:]
            more = [f"{len(rest)} more (`scaling plan` prints them)"] if rest else []
            raise UsageError(f"nothing of this study can be run here: {'; '.join(first + more)}")


def make_plan(
    study: Study,
    descriptions: Mapping[str, Description],
    topology: Topology,
    *,
    open_files: int | None = None,
    ports: int | None = None,
    memory_bytes: float = math.inf,
    free_bytes: float = math.inf,
    alone: str | None = None,
) -> Plan:
    """Settle the study and list its cells, in the study's own order.

    `descriptions` has the `--describe` document of each arm's environment, by the arm's name.
    `open_files` is how many a process may have at most, and `ports` how many an address has for
    connections to one port of another; None where there is no limit. No cell keeps
    more than the machine's `memory_bytes`, and a group of cells that are measured in turn needs no
    more than `free_bytes`; `alone` is why there can be no groups here, if so.

    Raises:
        UsageError: a name that no arm knows, a parameter that does not fit, an overload that
            cannot be made, or workers that are to be pinned where they cannot be.
    """
    settled = settle(study, descriptions, worker_counts(topology))
    asked = without_controls(settled, descriptions)
    study = with_controls(asked, descriptions, topology.usable_cores)
    order = cpu_order(topology) if study.pin else ()
    limits = (open_files, ports, memory_bytes)
    found = list(_every(study, descriptions, topology, order, limits))
    own = _distinct(_every(asked, descriptions, topology, order, limits))
    for cell in own:
        require_possible_overload(cell, study.window_s)
    cells = _distinct(found)
    repeats = repeats_of(own) if study.aa_pairs else ()
    workloads = {entry.name: facts_of(entry.name, descriptions) for entry in study.workloads}
    needs = {cell: _needed_bytes(workloads, cell) for cell in (*cells, *repeats)}
    in_turn: tuple[Group, ...] = ()
    why: dict[Cell, str] = {}
    for cell in (*cells, *repeats):
        facts = workloads[cell.workload]
        reason = alone or why_alone(cell, facts, topology.usable_logical)
        if reason := reason if study.alternate else NOT_ASKED:
            why[cell] = reason
    may = [cell for cell in (*cells, *repeats) if cell not in why]
    if may:
        asked_of = pairs(may)
        every = groups(
            may,
            asked_of,
            most_cells=lambda cell: most_together(workloads[cell.workload]),
            most_bytes=free_bytes,
            needs=needs,
        )
        # An A/A pair alone is in no group: then nothing is in turn whose noise it would show.
        in_turn = tuple(
            group for group in every if len({each.but(twin=False) for each in group}) > 1
        )
        for first, twin, takes_place in list(twins_of_gains(own, repeats, in_turn)):
            needs[twin] = needs[twin.but(twin=False)]
            if takes_place:
                repeats = tuple(twin if each == first else each for each in repeats)
                in_turn = tuple(
                    tuple(twin if each == first else each for each in group) for group in in_turn
                )
                continue
            repeats += (twin,)
            place = next(at for at, group in enumerate(in_turn) if first in group)
            group = (*in_turn[place], twin)
            most = most_together(workloads[first.workload])
            if len(group) > most or sum(needs[cell] for cell in group) > free_bytes:
                why[twin] = TOO_LARGE
            else:
                in_turn = (*in_turn[:place], group, *in_turn[place + 1 :])
        ours = {*cells, *repeats}
        together = {cell for group in in_turn for cell in group}
        compared = {cell for pair in asked_of for cell in pair}
        why |= {
            cell: TOO_LARGE if cell in compared and len(group) == 1 else NOT_COMPARED
            for group in every
            for cell in group
            if cell in ours and cell not in together
        }
    return Plan(
        study=study,
        cells=cells,
        asked=len(own),
        repeats=repeats,
        refused=_refused(found),
        workloads=workloads,
        groups=in_turn,
        needs=needs,
        alone=why,
    )


def _needed_bytes(workloads: Mapping[str, WorkloadFacts], cell: Cell) -> int:
    facts = workloads[cell.workload]
    parameters = {**cell.parameters, **parse_arm(cell.arm).parameters}
    return memory_bytes(cell, facts, held_bytes(facts, cell, parameters))


def _every(
    study: Study,
    descriptions: Mapping[str, Description],
    topology: Topology,
    order: tuple[int, ...],
    limits: tuple[int | None, int | None, float],
) -> Iterator[tuple[Cell, str | None]]:
    """All cells of a settled study, and why it cannot have some; `order`: of the CPUs to pin to.

    The `limits` are on open files of a process, ports of an address, and bytes of memory. What no
    number of workers can have is one cell.
    """
    open_files, ports, memory_bytes = limits
    for entry in study.workloads:
        for place in _places(entry, study.rates):
            arm = parse_arm(place.arm)
            run = place.but(
                loop=arm.loop(place.loop), parameters={**place.parameters, **arm.parameters}
            )
            reason = arm.unfit(place) or refusal(descriptions[place.arm], run)
            if reason is not None:
                yield place, reason
                continue
            facts = descriptions[place.arm].workloads[entry.name]
            for workers in entry.counts:
                cell = place.but(
                    workers=workers,
                    region=topology.region(workers),
                    pinning=pinning(order, workers) if order else None,
                )
                under_way = in_flight(facts, cell, most_workers(study, entry.name))
                reason = (
                    too_few_for_each(facts, cell)
                    or unfit_for_rooms(cell, under_way)
                    or too_many_connections(facts, cell, under_way)
                    or too_many_open_files(facts, cell, under_way, open_files)
                    or too_few_ports(facts, cell, under_way, ports)
                    or too_much_memory(facts, cell, run.parameters, memory_bytes)
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


def _distinct(found: Iterable[tuple[Cell, str | None]]) -> tuple[Cell, ...]:
    """The cells that can be run, each once, in the order in which they first come."""
    return tuple(dict.fromkeys(cell for cell, reason in found if reason is None))


def _refused(found: Iterable[tuple[Cell, str | None]]) -> tuple[RefusedCells, ...]:
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
