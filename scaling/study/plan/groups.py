"""Groups: cells whose ratio is asked for are measured in turn, all alive at the same time.

Two runs that follow each other differ by what the machine did meanwhile; what it does in a few
seconds happens to all cells of a group. A cell that is in no ratio runs alone, and so does one that
cannot be stopped between slices of its window.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from scaling.base.vocabulary import PROCESSES
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Cell, Region, Rounds, WorkloadFacts
from scaling.study.load import is_open_loop
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT, curve_of, every_ratio, section_of
from scaling.study.services import SERVICES, beside, in_front

# Cells that are alive at once. All that `scaling remedies` compares with one arm finds room:
# fourteen remedies, the arm without, and the second cells of two A/A pairs. A slice of each comes
# round in one to four seconds. For `echo` (ten blocks, two cores) that gave intervals of ±1 to 7 %;
# those of cells for which eight left no room were ±10 to 17 %.
MOST_CELLS = 18
MOST_SERVED = 8  # of servers, which are not stopped: what idle ones use was measured with so many
MOST_PER_CPU = 4  # workers; more of them wait for each other for longer than a slice lasts

# A slice is a twentieth of the window, within limits: windows of 0.4 s have eight of them, those of
# 1 s twenty. Ticks are then about as many as in a window that is not divided.
PARTS = 20
SHORTEST_S, LONGEST_S = 0.05, 0.1
# What a slice costs besides: to continue the run, let it settle, and stop it (on two shared cores).
HAND_OVER_S = 0.03

# Finite work takes turns by rounds of it, if it can be divided into so many. All tasks of a part
# are alive at once: one of `gather` needs 1,100 bytes of memory, one of `cancel`, which sleeps,
# 2,100.
FEWEST_ROUNDS = 8
TASK_BYTES = 3_000

# What a run may need in memory, MiB: of a process and of each loop in it, with room for packages as
# large as FastAPI. What is served also has a load generator, of a few small processes.
PROCESS_MIB, LOOP_MIB, GENERATOR_MIB = 60, 10, 60
MIB = 1 << 20

# The workloads whose parameters may name a command as their server, and what names none.
COMMANDS = ("workers.workloads.app:App", "workers.workloads.mix:Mix", "workers.workloads.web:Web")
OWN_SERVER = "loops"
DELAY = "delay_ms"  # of a service

# Why a cell that could take turns is measured alone.
NOT_ASKED = "--no-alternate"
NOT_COMPARED = "it is compared with no cell that has as many workers and can take turns"
TOO_LARGE = "no group has room for it"

type Group = tuple[Cell, ...]
type Pair = tuple[Cell, Cell]  # whose ratio is asked for


def groups(
    cells: Iterable[Cell],
    pairs: Iterable[Pair],
    *,
    most_cells: Callable[[Cell], int] = lambda _: MOST_CELLS,
    most_bytes: float = float("inf"),
    needs: Mapping[Cell, int] | None = None,
) -> tuple[Group, ...]:
    """The cells in groups, each cell in one, in the order in which they first come.

    Both cells of a pair are in one group, if they have the same N, if the group is then no larger
    than `most_cells` says of each cell, and if all of its runs together need no more than
    `most_bytes` of memory, of what each `needs`. Where that is not possible for all pairs, it is
    for the first ones.
    """
    known = needs or {}
    group_of = {cell: [cell] for cell in cells}
    for of, over in pairs:
        ours, theirs = group_of.get(of), group_of.get(over)
        if ours is None or theirs is None or ours is theirs:
            continue
        both = ours + theirs
        if (
            of.workers == over.workers
            and len(both) <= min(map(most_cells, both))
            and sum(known.get(cell, 0) for cell in both) <= most_bytes
        ):
            for cell in both:
                group_of[cell] = both
    place = {key: number for number, key in enumerate(group_of)}
    distinct = {id(group): group for group in group_of.values()}
    return tuple(tuple(sorted(group, key=lambda cell: place[cell])) for group in distinct.values())


def most_together(facts: WorkloadFacts) -> int:
    """With how many cells, itself among them, one of this workload may be in a group."""
    return MOST_SERVED if facts.served else MOST_CELLS


def slice_s(window_s: float) -> float:
    """How long a slice of a window is."""
    about_s = min(max(window_s / PARTS, SHORTEST_S), LONGEST_S)
    return window_s / max(1, round(window_s / about_s))


def memory_bytes(cell: Cell, facts: WorkloadFacts, held: int = 0) -> int:
    """What a run of this cell may need at most, as far as that is known beforehand.

    `held` are the bytes of data that it keeps, which workers and imports come on top of.
    """
    mib = _processes(cell, facts) * PROCESS_MIB + cell.workers * LOOP_MIB
    if facts.rounds:
        held += cell.workers * TASK_BYTES * _value(cell, facts, facts.rounds.part)
    mib += sum(SERVICES[name].most_mib for name in _services(cell, facts))
    if facts.served:
        mib += GENERATOR_MIB
    return MIB * mib + held


def _services(cell: Cell, facts: WorkloadFacts) -> Iterator[str]:
    """Those that a run has for itself."""
    yield from beside(facts.services, cell.parameters)
    if name := in_front(cell.parameters):
        yield name


def _processes(cell: Cell, facts: WorkloadFacts) -> int:
    """The host, its worker processes, and of a command the process that starts these."""
    return 1 + is_command(cell, facts) + (cell.workers if cell.model in PROCESSES else 0)


def is_command(cell: Cell, facts: WorkloadFacts) -> bool:
    """Whether its workers belong to a command that people deploy with."""
    return facts.path in COMMANDS and _served_by(cell) != OWN_SERVER


def why_alone(cell: Cell, facts: WorkloadFacts, cpus: float) -> str | None:
    """Why a cell is not measured in turn with others; None if it may be."""
    if cell.arm in RUNTIMES:
        return "another runtime has no slices"
    if beside((), cell.parameters) and not facts.served:
        return "its services go on while it is stopped"
    if cell.workers > MOST_PER_CPU * cpus:
        return f"more than {MOST_PER_CPU} workers for each CPU"
    if facts.alone is None and facts.served:
        return _why_served_alone(cell, facts)
    if facts.alone is None and facts.rounds:
        return _why_finite_alone(cell, facts, facts.rounds)
    return facts.alone or _answers_late(cell, facts)


def _why_finite_alone(cell: Cell, facts: WorkloadFacts, rounds: Rounds) -> str | None:
    if _value(cell, facts, rounds.delay):
        return "its timers go on while it is stopped"
    parts = math.ceil(_value(cell, facts, rounds.amount) / _value(cell, facts, rounds.part))
    if parts < FEWEST_ROUNDS:
        return f"its work cannot be divided into {FEWEST_ROUNDS} rounds"
    return None


def _value(cell: Cell, facts: WorkloadFacts, name: str) -> int:
    """What a parameter that is a number is, rounded up."""
    return math.ceil(float(cell.parameters.get(name, facts.parameters[name].default) or 0))


def _why_served_alone(cell: Cell, facts: WorkloadFacts) -> str | None:
    """The load of a closed loop can pause, and with it the services, which each run has for itself.

    What answers after a delay does so in bunches.
    """
    if is_open_loop(cell.parameters):
        return "the load of an open loop is sent by its schedule"
    services = [SERVICES[name] for name in _services(cell, facts)]
    if any(each.installed and os.environ.get(each.installed) for each in services):
        return "its database belongs to you, and all cells share it"
    return _answers_late(cell, facts)


def _answers_late(cell: Cell, facts: WorkloadFacts) -> str | None:
    """Of a client that is stopped, too: what is in flight then is answered soon, if not late."""
    services = [SERVICES[name] for name in _services(cell, facts)]
    if any(DELAY in each.parameters and cell.parameters.get(DELAY) for each in services):
        return "its services answer after a delay"
    return None


def _served_by(cell: Cell) -> str:
    """The server, or the second half of a stack."""
    asked = cell.parameters.get("server") or cell.parameters.get("stack") or OWN_SERVER
    return str(asked).rpartition("/")[2]


# -------------------------------------------------------------------------------------------- pairs
# Which ratios will be asked of a set of cells, so that their cells are measured in turn.
#
# They are those of the questions of the study (`scaling.study.questions`), which are asked here as
# if every cell had been measured, and of each A/A pair.


class Planned:
    """The cells of a plan, by themselves without region, pinning and twin, as questions need them.

    Capacity is a figure of all rates: no objective is stated here.
    """

    objectives: Sequence[str] = ()

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.planned: Mapping[Cell, Cell] = {_plain(cell): cell for cell in cells if not cell.twin}
        self.cells = _in_sections(self.planned)

    def region(self, cell: Cell) -> Region | None:
        """Where the workers of a cell fit on the machine."""
        return self.planned[cell].region if cell in self.planned else None

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that are planned; each measure is taken to have a value."""
        del measure
        return [each for each in cells if each in self.planned]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Whether a cell is planned; it is taken to be valid in every block."""
        del ends
        return cell in self.planned


def _in_sections(cells: Iterable[Cell]) -> list[Cell]:
    """The cells section by section, loop by loop and curve by curve, N ascending, as results are.

    An entry of a study file may be of several sections, and a section of several entries.
    """
    every = list(cells)
    places: dict[Cell, int] = {}

    def within(cell: Cell) -> tuple[Cell, Cell, Cell]:
        return section_of(cell), section_of(cell).but(loop=cell.loop), curve_of(cell)

    for cell in every:
        for group in within(cell):
            places.setdefault(group, len(places))
    return sorted(every, key=lambda cell: (*map(places.__getitem__, within(cell)), cell.workers))


def pairs(cells: Sequence[Cell]) -> list[Pair]:
    """The pairs among these cells with the same N, each once.

    Threads over processes, which a study with both is about, come first, then A/A pairs.
    """
    scope = Planned(cells)
    found: dict[Pair, bool] = {}
    for asked in every_ratio(scope):
        for over in scope.measured(asked.among):
            if asked.of in scope.planned and asked.of.workers == over.workers:
                both = scope.planned[asked.of], scope.planned[over]
                found.setdefault(both, asked.question == OVER_PROCESSES)
    twins = [cell for cell in cells if cell.twin and _plain(cell) in scope.planned]
    return [
        *(pair for pair, is_primary in found.items() if is_primary),
        *((twin, scope.planned[_plain(twin)]) for twin in twins),
        *(pair for pair, is_primary in found.items() if not is_primary),
    ]


def _plain(cell: Cell) -> Cell:
    return cell.but(region=None, pinning=None, twin=False)
