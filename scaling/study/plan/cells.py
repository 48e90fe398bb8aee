"""The plan of a settled study: its cells, their groups, the runs of each block, and their time."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from scaling.base.errors import UsageError
from scaling.base.vocabulary import PRIMARY_QUESTIONS
from scaling.builds.arms import parse_arm
from scaling.journal.record import (
    SCHEMA,
    Calibration,
    Cell,
    Description,
    Placement,
    RefusedCells,
    WorkloadFacts,
)
from scaling.machine.topology import Topology, cpu_order, pinning, worker_counts
from scaling.study.controls import least_window_s, with_controls, without_controls
from scaling.study.definition import Study
from scaling.study.load import (
    CALIBRATION_WINDOW_S,
    Needed,
    at_rates,
    calibrations_for,
    is_open_loop,
    require_possible_overload,
)
from scaling.study.plan.groups import (
    HAND_OVER_S,
    NOT_ASKED,
    Edge,
    Group,
    Room,
    alternation_blocker,
    between,
    groups,
    headline_slots,
    memory_bytes,
    most_together,
    pair_edges,
    ratio_edges,
    slice_s,
    turn_order,
)
from scaling.study.plan.order import (
    IN_GROUPS,
    ORDER,
    PlannedRun,
    Slot,
    aa_pairs,
    one_block,
)
from scaling.study.plan.possible import distinct, possible_cells, refused
from scaling.study.plan.refusals import (
    NO_LIMITS,
    Candidate,
    Limits,
    held_bytes,
    in_flight,
    most_workers,
)
from scaling.study.settle import facts_of, settle

# The time of a run besides warm-up and window, until runs of the study show it: starting, imports,
# closing and recording. On two 2.5 GHz cores it was 0.15 s with the standard library alone, 0.6 s
# with aiohttp and four workers, 0.27 s on average; slower machines need twice as much.
EXPECTED_OVERHEAD_S = 0.5
# A served run also imports the server's packages and connects a load generator. Beside other load
# that took 0.8 to 1.1 s for TCP, 0.9 to 1.5 s for ASGI, 1.4 to 2.6 s for FastAPI.
SERVED_OVERHEAD_S = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A settled study's cells and runs. `workloads` has the facts of each workload, by name.

    The study asks for the first `asked` of the cells; the others are added controls. The cells in
    `repeats` are run twice in each block, as A/A pairs. Every run of a block is in one of the
    `groups`; `headlines` are the headline ratios of cells that take turns. Additional blocks of
    headline groups consist of `headline_slots`, whatever memory is free. `needs` has the most
    memory of a cell's run, in bytes; `cpus` the CPUs to pin workers to, in order (empty: workers
    are not pinned). `fitted` says what was left out to fit a time.
    """

    study: Study
    topology: Topology
    cells: tuple[Cell, ...]
    asked: int
    refused: tuple[RefusedCells, ...]
    workloads: Mapping[str, WorkloadFacts]
    needs: Mapping[Cell, int]
    repeats: tuple[Cell, ...] = ()
    groups: tuple[Group, ...] = ()
    headline_slots: tuple[Slot, ...] = ()
    headlines: tuple[Edge, ...] = ()
    cpus: tuple[int, ...] = ()
    fitted: str = ""

    @property
    def runs(self) -> list[PlannedRun]:
        """Every run, in order."""
        return [run for number in range(self.study.every_block) for run in self.block(number)]

    @property
    def times(self) -> Counter[Slot]:
        """The number of runs of each slot in all blocks."""
        found = Counter(dict.fromkeys(self.slots, self.study.blocks))
        found.update(dict.fromkeys(self.headline_slots, self.study.headline_blocks or 0))
        return found

    def block(self, number: int) -> list[PlannedRun]:
        """The runs of a block, counted from 0; additional blocks come after the whole ones."""
        slots = self.slots if number < self.study.blocks else self.headline_slots
        in_turn = [group.slots for group in self.groups] if self.in_turn else []
        return list(one_block(slots, number, self.study.seed, in_turn))

    def together(self, runs: Iterable[PlannedRun]) -> list[tuple[PlannedRun, ...]]:
        """The runs by block and group, in order."""
        groups = enumerate(self.groups)
        number = {slot: place for place, group in groups for slot in group.slots}
        gathered: dict[tuple[int, int], list[PlannedRun]] = {}
        for run in runs:
            gathered.setdefault((run.block, number[run.slot]), []).append(run)
        return [tuple(each) for each in gathered.values()]

    def turn_order(self, runs: Sequence[PlannedRun]) -> list[PlannedRun]:
        """The order in which the runs of a group take turns in this attempt at a block."""
        first = runs[0]
        seed = f"{self.study.seed}:{first.block}:{first.position}:{first.attempt}"
        return turn_order(runs, self.headlines, random.Random(seed))

    def alone(self, run: PlannedRun) -> str | None:
        """Reason a planned run does not take turns, or None."""
        found = (group.alone for group in self.groups if run.slot in group.slots)
        return next(found, None) or None

    @property
    def in_turn(self) -> list[Group]:
        """The groups of several runs."""
        return [group for group in self.groups if not group.alone]

    @property
    def headline_runs(self) -> dict[str, int]:
        """The number of runs of each workload in an additional block of headline groups."""
        return Counter(slot.cell.workload for slot in self.headline_slots)

    @property
    def order(self) -> int:
        """The version of the order of runs, for the journal."""
        return IN_GROUPS if self.in_turn else ORDER

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of each whole block: the cells, some of them twice."""
        return (*map(Slot, self.cells), *(Slot(cell, 1) for cell in self.repeats))

    def placement(self, workers: int) -> Placement:
        """The region and the CPUs of so many workers."""
        return Placement(
            region=self.topology.region(workers),
            pinning=pinning(self.cpus, workers) if self.cpus else None,
        )

    def window_s(self, cell: Cell) -> float:
        """The length of the window of a run; of finite work it is not used.

        Controls have a short window unless the study itself asks for their workload.
        """
        most_s = self.study.window_s
        least_s = least_window_s(most_s, cell)
        own = least_s < most_s and any(
            each.workload == cell.workload for each in self.cells[: self.asked]
        )
        return most_s if own else least_s

    def inside_s(self, cell: Cell) -> float | None:
        """Seconds of warm-up and window in a run; None for finite work."""
        if self.workloads[cell.workload].finite:
            return None
        return self.study.warmup_s + self.window_s(cell)

    def overhead_s(self, cell: Cell) -> float:
        """Expected seconds of a run besides warm-up and window."""
        served = self.workloads[cell.workload].served
        between_s = 0.0
        if any(slot.cell == cell for group in self.in_turn for slot in group.slots):
            window_s = self.window_s(cell)
            between_s = HAND_OVER_S * window_s / slice_s(window_s)
        return between_s + (SERVED_OVERHEAD_S if served else EXPECTED_OVERHEAD_S)

    def expected_s(self, cell: Cell) -> float | None:
        """Expected seconds of a run; None for finite work."""
        inside_s = self.inside_s(cell)
        return None if inside_s is None else inside_s + self.overhead_s(cell)

    def calibration_s(self, cell: Cell) -> float:
        """Expected seconds of a run of a calibration."""
        return self.overhead_s(cell) + self.study.warmup_s + CALIBRATION_WINDOW_S

    @property
    def calibrations(self) -> list[Needed]:
        """The calibrations that the first block makes."""
        return calibrations_for(self.cells, self.topology.region)

    def at_rates(self, calibrations: Iterable[Calibration]) -> "Plan":
        """The plan with the rates of these calibrations."""
        known = list(calibrations)

        def rated(slots: Iterable[Slot]) -> tuple[Slot, ...]:
            return tuple(Slot(at_rates([cell], known)[0], repeat) for cell, repeat in slots)

        return replace(
            self,
            cells=at_rates(self.cells, known),
            asked=len(at_rates(self.cells[: self.asked], known)),
            repeats=at_rates(self.repeats, known),
            groups=tuple(replace(each, slots=rated(each.slots)) for each in self.groups),
            headline_slots=rated(self.headline_slots),
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
        """The JSON document that tells a child how to measure `cell`.

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
            "pinning": self.placement(cell.workers).pinning,
            **arm.cell_fields,
        }

    def require_cells(self) -> None:
        """Make sure that at least one of the study's own cells can be run.

        Raises:
            UsageError: every cell is refused; the message has the reasons.
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
    limits: Limits = NO_LIMITS,
    *,
    free_bytes: float = math.inf,
    alone: str = "",
) -> Plan:
    """Settle the study and plan it; cells are in the study's own order.

    `descriptions` has the `--describe` document of each arm's environment, by the arm's name. A
    group of cells that take turns needs at most `free_bytes` of memory. `alone` is the reason no
    cells can take turns here, if any.

    Raises:
        UsageError: a name that no arm knows, a parameter that does not fit, an overload that
            cannot be made, or CPUs that workers cannot be pinned to.
    """
    asked = without_controls(settle(study, descriptions, worker_counts(topology)), descriptions)
    study = with_controls(asked, descriptions, topology.usable_cores)
    found = list(possible_cells(study, descriptions, topology, limits))
    cells, own = map(distinct, (found, possible_cells(asked, descriptions, topology, limits)))
    for cell in own:
        require_possible_overload(cell, study.window_s)
    workloads = {entry.name: facts_of(entry.name, descriptions) for entry in study.workloads}
    plan = Plan(
        study=study,
        topology=topology,
        cells=cells,
        asked=len(own),
        refused=refused(found),
        workloads=workloads,
        needs={cell: _needed_bytes(cell, workloads[cell.workload]) for cell in cells},
        cpus=cpu_order(topology) if study.pin else (),
    )
    return _grouped(plan, free_bytes, alone if study.alternate else NOT_ASKED)


def _needed_bytes(cell: Cell, facts: WorkloadFacts) -> int:
    parameters = {**cell.parameters, **parse_arm(cell.arm).parameters}
    return memory_bytes(cell, facts, held_bytes(Candidate(cell, facts, parameters)))


def _grouped(plan: Plan, free_bytes: float, alone: str) -> Plan:
    """The plan with A/A pairs and groups; `alone` is the reason for no groups, if any."""
    study, region = plan.study, cache(plan.topology.region)
    blockers = dict.fromkeys(plan.cells, alone)
    for cell in () if alone else plan.cells:
        facts, cpus = plan.workloads[cell.workload], plan.topology.usable_logical
        blockers[cell] = alternation_blocker(cell, facts, cpus) or ""
    every = ratio_edges(plan.cells, region, study.primary or PRIMARY_QUESTIONS)
    edges = between([cell for cell, reason in blockers.items() if not reason], every)
    compared = {slot.cell for edge in edges for slot in edge[:2]}
    pairs = aa_pairs(plan.cells[: plan.asked], compared, region) if study.aa_pairs else []
    plan = replace(plan, repeats=tuple(pair.cell for pair in pairs))
    edges += pair_edges(pairs, compared)
    most = {name: most_together(facts) for name, facts in plan.workloads.items()}
    # Runs do not depend on the memory that is free at the moment, so that a resumed study is the
    # same; only groups do.
    whole = groups(plan.slots, edges, blockers, Room(most=most))
    room = Room(needs=plan.needs, most=most, most_bytes=free_bytes)
    # A run in an open loop takes longer than all others of a block: its ratios have whole blocks.
    lone = [cell for cell in blockers if blockers[cell] and not is_open_loop(cell.parameters)]
    of_lone = between(lone, every)
    headlines = tuple(edge for edge in edges if edge.headline)
    return replace(
        plan,
        groups=groups(plan.slots, edges, blockers, room),
        headline_slots=headline_slots(whole, headlines, of_lone),
        headlines=headlines,
    )
