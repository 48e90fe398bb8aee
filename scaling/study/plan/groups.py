"""Groups: cells whose ratio is asked for are alive at the same time, and take turns.

Two runs that follow each other differ by what the machine did meanwhile; what the machine does in a
few seconds happens to all cells of a group. A cell that is in no ratio runs alone, and so does a
cell that cannot be stopped between slices of its window.
"""

import math
import os
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from scaling.base.models import processes_of
from scaling.base.vocabulary import PRIMARY_QUESTIONS
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Cell, Region, Rounds, WorkloadFacts
from scaling.study.load import is_open_loop
from scaling.study.plan.order import AAPair, PlannedRun, RegionOf, Slot
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT, every_ratio
from scaling.study.sections import curve_of, section_of
from scaling.study.services import SERVICES, beside, in_front

# The most cells that are alive at once. Everything that `scaling remedies` compares has room:
# fourteen remedies, the arm without, and the second cells of two A/A pairs. Each cell has a slice
# every one to four seconds. For `echo` (ten blocks, two cores) that gave intervals of ±1 to 7 %;
# with at most eight, cells that were left out had ±10 to 17 %.
MOST_CELLS = 18
MOST_SERVED = 8  # of servers, which are not stopped: what idle ones use was measured with so many
MOST_PER_CPU = 4  # workers; more of them wait for each other for longer than a slice lasts

ORDERS = 100  # random orders of a group that are compared: of six cells they have nearly the best

# A slice is a twentieth of the window, within limits: windows of 0.4 s have eight of them, those of
# 1 s twenty. Ticks are then about as many as in a window that is not divided.
PARTS = 20
SHORTEST_S, LONGEST_S = 0.05, 0.1
# The cost of each slice: to continue the run, let it settle, and stop it (on two shared cores).
HAND_OVER_S = 0.03

# Finite work takes turns by rounds, if it can be divided into so many. All tasks of a round are
# alive at once: one of `gather` needs 1,100 bytes of memory, one of `cancel`, which sleeps, 2,100.
FEWEST_ROUNDS = 8
TASK_BYTES = 3_000

# The memory of a run, MiB: of a process and of each loop in it, with room for packages as large as
# FastAPI; and of a load generator, which has a few small processes.
PROCESS_MIB, LOOP_MIB, GENERATOR_MIB = 60, 10, 60
MIB = 1 << 20

# Workloads whose parameters may name a command as their server, and the server that is our own.
COMMANDS = ("workers.workloads.app:App", "workers.workloads.mix:Mix", "workers.workloads.web:Web")
OWN_SERVER = "loops"
DELAY = "delay_ms"  # of a service

# Reasons a cell that could take turns is measured alone.
NOT_ASKED = "--no-alternate"
NOT_COMPARED = "it is compared with no cell that has as many workers and can take turns"
TOO_LARGE = "no group has room for it"


# Ranks of edges: those of lower rank find room first.
OF_PROCESSES, OF_PAIR, OF_RATIO, OF_ADDED_PAIR = range(4)


class Edge(NamedTuple):
    """Two slots whose ratio is asked for; `headline`: of a primary question."""

    of: Slot
    over: Slot
    rank: int = OF_RATIO
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Slots whose runs take turns; a single slot has the reason it runs `alone`."""

    slots: tuple[Slot, ...]
    alone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The limits of a group: `most` cells, by workload, and `most_bytes` of memory in all.

    `needs` has the memory of each cell, in bytes.
    """

    needs: Mapping[Cell, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    most_bytes: float = math.inf

    def holds(self, slots: Sequence[Slot]) -> bool:
        """Return True if these fit into one group."""
        most = min(self.most.get(slot.cell.workload, MOST_CELLS) for slot in slots)
        needed = sum(self.needs.get(slot.cell, 0) for slot in slots)
        return len(slots) <= most and needed <= self.most_bytes


def groups(
    slots: Sequence[Slot],
    edges: Sequence[Edge],
    blockers: Mapping[Cell, str],
    room: Room,
) -> tuple[Group, ...]:
    """The slots in groups, in the order of their first slots.

    Both ends of an edge are in one group, if the group has room. A cell with a reason in `blockers`
    runs alone. So do the two runs of an A/A pair without another cell: no ratio is in turn whose
    noise they would show.
    """
    linked = {slot for edge in edges for slot in edge[:2]}
    found: list[Group] = []
    for group in _joined(slots, edges, room):
        if len({slot.cell for slot in group}) > 1:
            found.append(Group(group))
            continue
        for slot in group:
            reason = TOO_LARGE if slot in linked else NOT_COMPARED
            found.append(Group((slot,), blockers.get(slot.cell) or reason))
    return tuple(found)


def turn_order(
    runs: Sequence[PlannedRun], headlines: Collection[Edge], source: random.Random
) -> list[PlannedRun]:
    """Of 100 random orders, the one in which cells of headline ratios are nearest to each other.

    In published studies neighbours scattered by 0.86 (0.83 to 0.93) times as much a block as other
    cells, by 0.88 (0.85 to 1.02) times for two models in noisy hours
    (`python -m tests.benchmarks neighbours`).
    """
    slots = {run.slot for run in runs}
    pairs = [(of, over) for of, over, *_ in headlines if {of, over} <= slots]

    def distance(order: Sequence[PlannedRun]) -> int:
        place = {run.slot: number for number, run in enumerate(order)}
        return sum(abs(place[of] - place[over]) for of, over in pairs)

    orders = (sorted(runs, key=lambda _: source.random()) for _ in range(ORDERS))
    return min(orders, key=distance)


def headline_slots(
    whole: Iterable[Group], headlines: Iterable[Edge], of_lone: Iterable[Edge]
) -> tuple[Slot, ...]:
    """The slots of additional blocks: all of a group that has both ends of a headline ratio.

    The second run of an A/A pair is left out if the first run is in another group. `of_lone` are
    the ratios of cells that never take turns: each end of a headline ratio is a group of its own.
    """
    pairs = [{*each[:2]} for each in headlines]
    ends = {slot for each in of_lone if each.headline for slot in each[:2]}
    found: list[Slot] = []
    for slots in (group.slots for group in whole):
        if any(pair.issubset(slots) for pair in pairs):
            found += (slot for slot in slots if Slot(slot.cell) in slots)
        else:
            found += (slot for slot in slots if slot in ends)
    return tuple(found)


def _joined(slots: Sequence[Slot], edges: Iterable[Edge], room: Room) -> Iterator[tuple[Slot, ...]]:
    """The slots that edges connect, together as long as there is room."""
    group_of = {slot: [slot] for slot in slots}
    for of, over, *_ in sorted(edges, key=lambda edge: edge.rank):
        if group_of[of] is not group_of[over] and room.holds(group_of[of] + group_of[over]):
            both = group_of[of] + group_of[over]
            group_of.update(dict.fromkeys(both, both))
    place = {slot: number for number, slot in enumerate(slots)}
    for group in {id(each): each for each in group_of.values()}.values():
        yield tuple(sorted(group, key=place.__getitem__))


def most_together(facts: WorkloadFacts) -> int:
    """The most cells in a group with a cell of this workload."""
    return MOST_SERVED if facts.served else MOST_CELLS


def slice_s(window_s: float) -> float:
    """The length of a slice of a window, in seconds."""
    about_s = min(max(window_s / PARTS, SHORTEST_S), LONGEST_S)
    return window_s / max(1, round(window_s / about_s))


def memory_bytes(cell: Cell, facts: WorkloadFacts, held: int = 0) -> int:
    """The most memory that a run of a cell needs, as far as known beforehand.

    `held` are the bytes of the data that the cell keeps; workers and imports are added.
    """
    # The host, its worker processes, and the process of a command that starts them.
    processes = 1 + _is_command(cell, facts) + processes_of(cell.model, cell.workers)
    mib = processes * PROCESS_MIB + cell.workers * LOOP_MIB
    if facts.rounds:
        held += cell.workers * TASK_BYTES * _value(cell, facts, facts.rounds.part)
    mib += sum(SERVICES[name].most_mib for name in _services(cell, facts))
    if facts.served:
        mib += GENERATOR_MIB
    return MIB * mib + held


def _services(cell: Cell, facts: WorkloadFacts) -> Iterator[str]:
    """The services that a run has for itself."""
    yield from beside(facts.services, cell.parameters)
    if name := in_front(cell.parameters):
        yield name


def _is_command(cell: Cell, facts: WorkloadFacts) -> bool:
    """Return True if the server, or the second part of the stack, is a deployment command."""
    asked = cell.parameters.get("server") or cell.parameters.get("stack") or OWN_SERVER
    return facts.path in COMMANDS and str(asked).rpartition("/")[2] != OWN_SERVER


def alternation_blocker(cell: Cell, facts: WorkloadFacts, cpus: float) -> str | None:
    """Reason a cell cannot take turns with others, or None."""
    return next(_blockers(cell, facts, cpus), None)


def _blockers(cell: Cell, facts: WorkloadFacts, cpus: float) -> Iterator[str]:
    services = [SERVICES[name] for name in _services(cell, facts)]
    if cell.arm in RUNTIMES:
        yield "another runtime has no slices"
    if beside((), cell.parameters) and not facts.served:
        yield "its services go on while it is stopped"
    if cell.workers > MOST_PER_CPU * cpus:
        yield f"more than {MOST_PER_CPU} workers for each CPU"
    if facts.alone is not None:
        yield facts.alone
    # The load of a closed loop can pause, and so can the services, which each run has for itself.
    if facts.served and is_open_loop(cell.parameters):
        yield "the load of an open loop is sent by its schedule"
    if facts.served and any(os.environ.get(each.installed) for each in services):
        yield "its database belongs to you, and all cells share it"
    if facts.rounds and not facts.served:
        yield from _blockers_of_finite(cell, facts, facts.rounds)
    # This holds for clients, too: requests in flight are answered while the client is stopped.
    if any(DELAY in each.parameters and cell.parameters.get(DELAY) for each in services):
        yield "its services answer after a delay"


def _blockers_of_finite(cell: Cell, facts: WorkloadFacts, rounds: Rounds) -> Iterator[str]:
    if _value(cell, facts, rounds.delay):
        yield "its timers go on while it is stopped"
    parts = math.ceil(_value(cell, facts, rounds.amount) / _value(cell, facts, rounds.part))
    if parts < FEWEST_ROUNDS:
        yield f"its work cannot be divided into {FEWEST_ROUNDS} rounds"


def _value(cell: Cell, facts: WorkloadFacts, name: str) -> int:
    """The value of a number among the parameters, rounded up."""
    return math.ceil(float(cell.parameters.get(name, facts.parameters[name].default) or 0))


# -------------------------------------------------------------------------------------------- edges
# The ratios that will be asked of a plan's cells, so that these cells take turns.
#
# They are the ratios of all questions (`scaling.study.questions`), asked as if every cell had been
# measured, and the ratio of each A/A pair.


class Planned:
    """The cells of a plan as a `Scope` of questions.

    It has no objectives: a capacity is a figure of all rates, which never take turns.
    """

    objectives: Sequence[str] = ()

    def __init__(self, cells: Iterable[Cell], region: RegionOf) -> None:
        self._planned = dict.fromkeys(cells)
        self._region = region
        self.cells = _in_sections(self._planned)

    def region(self, cell: Cell) -> Region | None:
        """The region of the machine that the workers of a cell fit on."""
        return self._region(cell.workers)

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that are planned: every measure is taken to have a value."""
        del measure
        return [each for each in cells if each in self._planned]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Return True if a cell is planned: it is taken to be valid in every block."""
        del ends
        return cell in self._planned


def _in_sections(cells: Iterable[Cell]) -> list[Cell]:
    """The cells by section, loop, curve and N, as results are.

    An entry of a study file may have cells of several sections, a section of several entries.
    """
    every = list(cells)
    places: dict[Cell, int] = {}

    def within(cell: Cell) -> tuple[Cell, Cell, Cell]:
        return section_of(cell), replace(section_of(cell), loop=cell.loop), curve_of(cell)

    for cell in every:
        for group in within(cell):
            places.setdefault(group, len(places))
    return sorted(every, key=lambda cell: (*map(places.__getitem__, within(cell)), cell.workers))


def ratio_edges(
    cells: Iterable[Cell], region: RegionOf, primary: Collection[str] = PRIMARY_QUESTIONS
) -> list[Edge]:
    """The ratios that questions ask of these cells at equal N, each once.

    Headline ratios of the `primary` questions are marked.
    """
    scope = Planned(cells, region)
    found: dict[tuple[Slot, Slot], Edge] = {}
    for asked in every_ratio(scope):
        rank = OF_PROCESSES if asked.question == OVER_PROCESSES else OF_RATIO
        headline = asked.headline and asked.question in primary
        for over in scope.measured(asked.among):
            if scope.measured([asked.of]) and asked.of.workers == over.workers:
                ends = Slot(asked.of), Slot(over)
                known = found.get(ends, Edge(*ends, rank))
                found[ends] = Edge(*ends, known.rank, known.headline or headline)
    return list(found.values())


def between(cells: Iterable[Cell], edges: Iterable[Edge]) -> list[Edge]:
    """The edges with both ends among some cells. All cells of a plan are asked for ratios at once:
    which N has the headline depends on all of them.
    """
    chosen = {*cells}
    return [edge for edge in edges if {edge.of.cell, edge.over.cell} <= chosen]


def pair_edges(pairs: Iterable[AAPair], compared: Collection[Cell]) -> Iterator[Edge]:
    """The ratios of A/A pairs whose second run belongs beside a compared cell."""
    for pair in pairs:
        if pair.beside in compared:
            rank = OF_ADDED_PAIR if pair.added else OF_PAIR
            yield Edge(Slot(pair.cell, 1), Slot(pair.beside), rank)
