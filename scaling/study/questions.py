"""The comparisons of a study: every question as the pairs of cells whose ratio answers it.

A question is a generator of `Asked`, registered by `@question`; to add a comparison, add one. The
plan takes from it which cells have to be measured side by side, the analysis which ratios to
estimate (`scaling.analysis.tables.ratios`); all that is shown selects from these.

A question is asked of a `Scope`: the cells of a plan, or those that were measured.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from typing import Protocol

from msgspec.structs import replace

from scaling.base.models import PROCESSES, THREADS, is_mixed, parts_of
from scaling.builds.arms import RUNGS, VersionArms, free_arms, rising, version_arms
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Cell, Parameters, Region
from scaling.study.load import RATE, is_open_loop, middle, open_loop_rate

THROUGHPUT, CPU, MEMORY, P99 = "throughput_per_s", "cpu_s_per_op", "memory", "latency_p99_s"
CPU_OF_ALL = "stack_cpu_s_per_op"  # with what is around the workers
CAPACITY = "capacity at {}"  # with the text of an objective
BASE_LOOP = "asyncio"
OVER_PROCESSES, OVER_THREADS = "over processes", "over threads"
OVER_SERVER = "over a server"
OVER_SMALLEST_POOL = "pool"
TWO_STUDIES = "two studies"
POOL = "pool"  # a parameter: how many threads each loop's pool has
CONNECTION = "connection_bytes"
# Parameters that say where workers share something, and their values that put it into a server.
IN_SERVER = {"cache": "valkey", "through": "broker"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One ratio that a question asks for: a measure `of` a cell over that of another.

    Of several cells in `among` it is over the strongest: the one whose median of the measure is
    best. Blocks count in which every one of `along` has a value, too. `name` is what a step of the
    ladder changes. `headline`: the question is about this ratio first.
    """

    question: str
    measure: str
    of: Cell
    among: tuple[Cell, ...]
    headline: bool = False
    along: tuple[Cell, ...] = ()
    name: str = ""


class Scope(Protocol):
    """The cells that questions are asked of, in the order in which a study shows them."""

    @property
    def cells(self) -> Sequence[Cell]:
        """All of them, measured or not."""

    @property
    def objectives(self) -> Sequence[str]:
        """The latency objectives that the study states, such as `p99<20ms`."""

    def region(self, cell: Cell) -> Region | None:
        """Where the workers of a cell fit on the machine."""

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that there are, with at least one value of the measure."""

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Whether a cell has a value in enough of the blocks in which both of two others have."""


type Question = Callable[[Scope], Iterator[Asked]]
QUESTIONS: dict[str, Question] = {}


def question(ask: Question) -> Question:
    """Register a question. Their order is that of the functions below."""
    QUESTIONS[ask.__name__] = ask
    return ask


def every_ratio(scope: Scope) -> list[Asked]:
    """All ratios of a study, question by question inside each section; capacities at the end."""
    sections = {key: at for at, key in enumerate(dict.fromkeys(map(section_of, scope.cells)))}
    found = [asked for ask in QUESTIONS.values() for asked in ask(scope)]
    return sorted(found, key=lambda each: sections.get(section_of(each.of), len(sections)))


# ------------------------------------------------------------------------------ groups of cells


def section_of(cell: Cell) -> Cell:
    """What the cells of one table have in common: workload, parameters and sizing."""
    return replace(cell, loop="", arm="", model="", workers=0)


def curve_of(cell: Cell) -> Cell:
    """What the cells of one curve have in common: all but N."""
    return replace(cell, workers=0)


def ones_of(cell: Cell) -> list[Cell]:
    """The cell with one worker of a curve; of a mixed model one thread, or one process, is that."""
    return [replace(cell, workers=1, model=model) for model in parts_of(cell.model)]


def subject_of(cell: Cell) -> Cell:
    """What is loaded at several rates: workload, other parameters, sizing and loop."""
    return replace(section_of(without_rate(cell)), loop=cell.loop)


class Group:
    """The cells of one section and loop."""

    def __init__(self, scope: Scope, cells: Sequence[Cell]) -> None:
        self.scope = scope
        self.cells = cells
        self.first = cells[0]
        self.arms = list(dict.fromkeys(cell.arm for cell in cells))
        self.models = list(dict.fromkeys(cell.model for cell in cells))
        self.workers = sorted({cell.workers for cell in cells})
        self.is_open_loop = open_loop_rate(self.first.parameters) is not None

    @property
    def headline_n(self) -> int:
        """The largest N with a core for each worker, else the largest."""
        on_cores = [each.workers for each in self.cells if self.scope.region(each) == "cores"]
        return max(on_cores, default=max(self.workers))

    @property
    def curves(self) -> list[list[Cell]]:
        """The cells of each arm and model, N ascending."""
        return [list(curve) for _, curve in groupby(self.cells, key=curve_of)]

    def cell(self, arm: str, model: str, workers: int) -> Cell:
        """A cell of this section and loop, whether or not it was measured."""
        return replace(self.first, arm=arm, model=model, workers=workers)

    def challengers(self, version: VersionArms) -> list[tuple[str, str]]:
        """Arm and model of what is compared with processes: mixed models on every rung, too."""
        mixed = [model for model in self.models if is_mixed(model)]
        return [*version.challengers, *product(version.rungs, mixed)]

    def processes(self, arms: Iterable[str], workers: int) -> list[Cell]:
        """N processes on these arms, fresh and forked, as far as they were measured."""
        cells = [self.cell(arm, model, workers) for arm in arms for model in PROCESSES]
        return self.scope.measured(cells)

    def rivals(self, version: VersionArms, ours: Cell) -> tuple[Cell, ...]:
        """The processes of which the strongest is compared with a cell: those on arms with the GIL,
        where there are none those on its own arm.
        """
        usual = self.processes(version.with_gil, ours.workers)
        return tuple(usual or self.processes([ours.arm], ours.workers))


def groups(scope: Scope) -> list[Group]:
    """The cells by section and loop, in the study's order."""
    return [
        Group(scope, list(cells))
        for _, cells in groupby(scope.cells, key=lambda each: (section_of(each), each.loop))
    ]


def _closed(scope: Scope) -> Iterator[Group]:
    return (group for group in groups(scope) if not group.is_open_loop)


def _compared(scope: Scope) -> Iterator[Group]:
    """Those of closed loops with several curves."""
    return (group for group in _closed(scope) if len(group.curves) > 1)


def _pair(
    name: str, of: Cell, over: Cell, measures: Iterable[str], *, headline: bool = False
) -> Iterator[Asked]:
    """A ratio of each measure; at the headline N that of throughput answers the question."""
    for measure in measures:
        yield Asked(name, measure, of, (over,), headline and measure == THROUGHPUT)


# ------------------------------------------------------------------------------ the questions


@question
def gains(scope: Scope) -> Iterator[Asked]:
    """What more workers gain: N workers over one of the same arm and model.

    The headline is that of a curve that the study is about, at its own headline N.
    """
    for group in _closed(scope):
        subjects = _subjects(group)
        for curve in group.curves:
            one = next(iter(scope.measured(ones_of(curve[0]))), None)
            if one is None:
                continue
            several = scope.measured(each for each in curve if each.workers > 1)
            on_cores = [each for each in several if scope.region(each) == "cores"]
            headline = max(on_cores or several, key=lambda each: each.workers, default=None)
            for of in several:
                first = of == headline and curve in subjects
                yield Asked("gain", THROUGHPUT, of, (one,), first)


def _subjects(group: Group) -> list[list[Cell]]:
    """The curves that a study is about: threads without the GIL, or all where there are none.

    Processes of another runtime show what the machine gives: a study is not about these.
    """
    free = free_arms(group.arms)
    return [
        curve for curve in group.curves if curve[0].arm in free and curve[0].model == THREADS
    ] or [
        curve
        for curve in group.curves
        if curve[0].arm not in RUNTIMES or curve[0].model not in PROCESSES
    ]


@question
def ladder(scope: Scope) -> Iterator[Asked]:
    """What freed the speed: the headline ratio of a version, and the factor of each step of it.

        3.14 → 3.14+mimalloc → 3.14t+gil → 3.14t        allocator × build × GIL = headline

    In each block the factors multiply to the headline exactly, since every rung between its ends is
    once a numerator and once a divisor, and only blocks count in which every rung is valid. A rung
    that was not measured in enough blocks is left out, and the step across it has both names.
    """
    for group in _compared(scope):
        for version, n in product(version_arms(group.arms), group.workers):
            measured = scope.measured(group.cell(arm, THREADS, n) for arm in version.rungs)
            if len(measured) < 2:
                continue
            bottom, top = measured[0], measured[-1]
            between = [each for each in measured[1:-1] if scope.enough(each, (bottom, top))]
            rungs = (bottom, *between, top)
            headline = n == group.headline_n
            yield Asked("headline", THROUGHPUT, top, (bottom,), headline, along=rungs)
            for before, after in pairwise(rungs):
                name = version.changes(before.arm, after.arm)
                yield Asked("step", THROUGHPUT, after, (before,), along=rungs, name=name)


@question
def over_processes(scope: Scope) -> Iterator[Asked]:
    """Threads and interpreters over processes at the same N: which to ship?

    Compared are threads of every version's free arm, and interpreters of any arm, with the best
    that people can have today: N processes, fresh or forked, on `3.14` or `3.14+mimalloc`. Each
    measure has its own baseline: the most throughput, the least CPU time, the least memory. If
    several are alike, noise decides which one is chosen, so the comparison errs in favour of
    processes, by less than the noise of a run. Memory is compared with fresh and with forked
    processes: these share the pages of what was loaded before the fork.
    """
    for group in _compared(scope):
        for version in version_arms(group.arms):
            for (arm, model), n in product(group.challengers(version), group.workers):
                of = group.cell(arm, model, n)
                among = group.rivals(version, of)
                if not (among and scope.measured([of])):
                    continue
                headline = (model == THREADS or is_mixed(model)) and n == group.headline_n
                yield Asked(OVER_PROCESSES, THROUGHPUT, of, among, headline)
                yield Asked(OVER_PROCESSES, CPU, of, among)
                for kind in PROCESSES:
                    if alike := tuple(each for each in among if each.model == kind):
                        yield Asked(OVER_PROCESSES, MEMORY, of, alike)


@question
def over_threads(scope: Scope) -> Iterator[Asked]:
    """Processes with several threads each over threads of one process, on the build without GIL."""
    for group in groups(scope):
        measures = (P99 if group.is_open_loop else THROUGHPUT, CPU, MEMORY)
        for version in version_arms(group.arms):
            for (arm, model), n in product(group.challengers(version), group.workers):
                pair = group.cell(arm, model, n), group.cell(version.free, THREADS, n)
                if is_mixed(model) and len(scope.measured(pair)) == len(pair):
                    yield from _pair(OVER_THREADS, *pair, measures)


@question
def over_server(scope: Scope) -> Iterator[Asked]:
    """What all threads share over as many processes with a server: what sharing memory brings.

    Each cache in memory, and each way of loops to reach each other, is compared at the same other
    parameters with the strongest processes. CPU time is that of all parts, the server's too. In an
    open loop P99 takes the place of throughput: that of the middle rate is the headline of a study
    that states no objective. With connections that stay open, memory for each is compared, too.
    """
    middles = _middle_rates(scope)
    for group in groups(scope):
        shared = shared_by(group.first)
        if not shared:
            continue
        theirs = {**group.first.parameters, shared: IN_SERVER[shared]}
        first = P99 if group.is_open_loop else THROUGHPUT
        rate = group.first.parameters.get(RATE)
        is_middle = rate == middles.get(subject_of(group.first)) and not scope.objectives
        for arm, n in product(free_arms(group.arms), group.workers):
            of = group.cell(arm, THREADS, n)
            among = [
                each
                for each in scope.cells
                if each.model in PROCESSES
                and each == replace(of, parameters=theirs, arm=each.arm, model=each.model)
            ]
            if not (among and scope.measured([of])):
                continue
            measures = (first, CPU_OF_ALL, *[CONNECTION] * group.is_open_loop)
            for measure in measures:
                known = tuple(scope.measured(among, measure))
                headline = measure == P99 and is_middle and n == group.headline_n
                yield Asked(OVER_SERVER, measure, of, known or tuple(among), headline)


def shared_by(cell: Cell) -> str:
    """The parameter by which the workers of a cell share something in memory; empty: none."""
    given = cell.parameters
    return next(
        (each for each in IN_SERVER if given.get(each, "") not in ("", IN_SERVER[each])), ""
    )


@question
def pools(scope: Scope) -> Iterator[Asked]:
    """How many threads each loop's pool should have: each size over the smallest one measured.

    Everything else is equal. Latency is compared at each rate, the rest at the peak.
    """
    sizes: dict[Cell, list[Cell]] = {}
    for cell in scope.cells:
        if cell.parameters.get(POOL):
            sizes.setdefault(
                replace(cell, parameters=Parameters.of(cell.parameters).without(POOL)), []
            ).append(cell)
    for alike in sizes.values():
        smallest, *others = sorted(alike, key=lambda each: int(str(each.parameters[POOL])))
        is_open_loop = open_loop_rate(smallest.parameters) is not None
        for of in others:
            for measure in (P99,) if is_open_loop else (THROUGHPUT, CPU, MEMORY):
                yield Asked(OVER_SMALLEST_POOL, measure, of, (smallest,))


@question
def break_even(scope: Scope) -> Iterator[Asked]:
    """From how many threads without the GIL on they beat the best single worker with it.

    That is the fastest of what one worker on `3.14` or `3.14+mimalloc` did, as a thread or as a
    process: the choice that a person has who runs one loop today.
    """
    for group in _compared(scope):
        for version in version_arms(group.arms):
            single = scope.measured(
                group.cell(arm, model, 1)
                for arm in version.with_gil
                for model in (THREADS, *PROCESSES)
            )
            for n in group.workers if single else ():
                threads = group.cell(version.free, THREADS, n)
                yield Asked("break-even", THROUGHPUT, threads, tuple(single))


@question
def versions(scope: Scope) -> Iterator[Asked]:
    """What the versions of Python changed: each arm over that of the oldest version that has it.

        3.13 over 3.12, 3.14 over 3.12;  3.14t over 3.13t

    What else two builds differ in (another compiler, PGO) is in the ratio, too, and must be shown
    beside it (`scaling.analysis.builds`).
    """
    for group in _compared(scope):
        names = rising(each.version for each in version_arms(group.arms))
        for (added, _), model, n in product(RUNGS, group.models, group.workers):
            measured = scope.measured(group.cell(name + added, model, n) for name in names)
            for of in measured[1:]:
                headline = n == group.headline_n
                yield from _pair("version", of, measured[0], (THROUGHPUT, CPU), headline=headline)


@question
def settings(scope: Scope) -> Iterator[Asked]:
    """What a setting beside the ladder changes: each arm with it over the same arm without.

        3.14t+nogc over 3.14t;  3.13+io-uring over 3.13

    Of an arm with several, the last one of its name is left out.
    """
    for group in _compared(scope):
        for of, over in _with_and_without(group):
            headline = of.workers == group.headline_n
            yield from _pair("setting", of, over, (THROUGHPUT, CPU), headline=headline)


def _with_and_without(group: Group) -> Iterator[tuple[Cell, Cell]]:
    """Each cell with a setting beside the ladder, and the same without it."""
    rungs = {rung for version in version_arms(group.arms) for rung in version.rungs}
    arms = [arm for arm in group.arms if "+" in arm and arm not in rungs]
    for arm, model, n in product(arms, group.models, group.workers):
        pair = group.cell(arm, model, n), group.cell(arm.rpartition("+")[0], model, n)
        if len(group.scope.measured(pair)) == len(pair):
            yield pair


@question
def loops(scope: Scope) -> Iterator[Asked]:
    """Each other loop over asyncio, at the same arm, model and N."""
    for group in _across_loops(scope):
        for curve in group.curves:
            if curve[0].loop == BASE_LOOP:
                continue
            for n in group.workers:
                other = replace(curve[0], workers=n)
                pair = other, replace(other, loop=BASE_LOOP)
                if len(scope.measured(pair)) == len(pair):
                    headline = n == group.headline_n
                    yield from _pair("loop", *pair, (THROUGHPUT, CPU), headline=headline)


@question
def runtimes(scope: Scope) -> Iterator[Asked]:
    """Threads of each other runtime over as many of the first Python that the study names.

    A runtime has a loop of its own. The two differ in everything, which must be shown beside the
    ratio. Its processes are what the machine gives without an interpreter: nothing is compared
    with these.
    """
    for group in _across_loops(scope):
        others = [
            curve[0]
            for curve in group.curves
            if curve[0].arm in RUNTIMES and curve[0].model == THREADS
        ]
        python = next(_pythons(group), None) if others else None
        for other, n in product(others if python else (), group.workers):
            over = replace(other, arm=python, loop=BASE_LOOP, workers=n)
            pair = replace(other, workers=n), over
            if len(scope.measured(pair)) == len(pair):
                headline = n == group.headline_n
                yield from _pair("runtime", *pair, (THROUGHPUT, CPU), headline=headline)


def _across_loops(scope: Scope) -> Iterator[Group]:
    """The cells of each section of a closed loop that has several loops."""
    for _, members in groupby(groups(scope), key=lambda each: section_of(each.first)):
        several = list(members)
        if len(several) > 1 and not several[0].is_open_loop:
            yield Group(scope, [cell for group in several for cell in group.cells])


def _pythons(group: Group) -> Iterator[str]:
    """The Pythons that were measured in threads on asyncio, in the study's order."""
    for cell in group.cells:
        is_usual = (cell.loop, cell.model) == (BASE_LOOP, THREADS) and cell.arm not in RUNTIMES
        if is_usual and group.scope.measured([cell]):
            yield cell.arm


# ------------------------------------------------------------------------------ at one rate


@question
def at_rate(scope: Scope) -> Iterator[Asked]:
    """Configurations at the same rate of an open loop: P99, CPU time per request, memory.

    Throughput is the schedule's there, so it is not compared; N workers at a rate do not do more
    than one at the same rate, but do it sooner, so gains, ladders and break-even points have no
    meaning. Threads are compared with the processes that are best at each measure, each arm with
    the arm before it on the ladder, each setting with the arm without it. P99 of threads over
    processes at the middle rate and headline N is the headline of a study that states no objective.
    """
    middles = _middle_rates(scope)
    for group in groups(scope):
        if not group.is_open_loop:
            continue
        measured = scope.measured
        rate = group.first.parameters[RATE]
        is_middle = rate == middles.get(subject_of(group.first)) and not scope.objectives
        for version in version_arms(group.arms):
            for (arm, model), n in product(group.challengers(version), group.workers):
                of = group.cell(arm, model, n)
                among = group.rivals(version, of)
                if among and measured([of]):
                    headline = is_middle and model == THREADS and n == group.headline_n
                    yield Asked(OVER_PROCESSES, P99, of, among, headline)
                    for measure in (CPU, MEMORY):
                        yield Asked(OVER_PROCESSES, measure, of, among)
            for model, n in product(group.models, group.workers):
                rungs = measured(group.cell(arm, model, n) for arm in version.rungs)
                for before, after in pairwise(rungs):
                    yield from _pair("step", after, before, (P99, CPU, MEMORY))
        for of, over in _with_and_without(group):
            yield from _pair("setting", of, over, (P99, CPU, MEMORY))


def _middle_rates(scope: Scope) -> dict[Cell, object]:
    """The middle rate of every subject."""
    rates: dict[Cell, set[float]] = {}
    for cell in scope.cells:
        rate = cell.parameters.get(RATE)
        if is_open_loop(cell.parameters) and isinstance(rate, int | float):
            rates.setdefault(subject_of(cell), set()).add(float(rate))
    return {subject: middle(found) for subject, found in rates.items()}


@question
def capacities(scope: Scope) -> Iterator[Asked]:
    """Capacity at each objective: of threads over that of processes, and of N workers over one.

    The cells have no rate. Capacity of threads over the strongest processes at the headline N is
    the headline of a study that states objectives.
    """
    loaded = [cell for cell in scope.cells if is_open_loop(cell.parameters)]
    cells = list(dict.fromkeys(map(without_rate, loaded)))
    for objective in scope.objectives:
        measure = CAPACITY.format(objective)
        for _, members in groupby(cells, key=lambda each: (section_of(each), each.loop)):
            known = scope.measured(members, measure)
            if not known:
                continue
            group = Group(scope, known)
            for version in version_arms(group.arms):
                for of in known:
                    among = tuple(
                        each
                        for each in known
                        if each.arm in version.with_gil
                        and each.model in PROCESSES
                        and each.workers == of.workers
                    )
                    if (of.arm, of.model) in group.challengers(version) and among:
                        headline = of.model == THREADS and of.workers == group.headline_n
                        yield Asked(OVER_PROCESSES, measure, of, among, headline)
                    threads = replace(of, arm=version.free, model=THREADS)
                    if is_mixed(of.model) and of.arm in version.rungs and threads in known:
                        yield Asked(OVER_THREADS, measure, of, (threads,))
            for of in known:
                one = replace(of, workers=1)
                if of.workers > 1 and one in known:
                    yield Asked("gain", measure, of, (one,))


# ------------------------------------------------------------------------------ two studies


def two_studies(now: Scope, then: Scope) -> Iterator[Asked]:
    """What changed since an earlier study: each cell of both over itself, now over then.

    The only question about two scopes, so it is asked by itself. In an open loop throughput is the
    schedule's, and P99 takes its place; capacities are compared at the objectives that both state.
    """
    earlier = set(then.cells)
    for group in groups(now):
        pace = P99 if group.is_open_loop else THROUGHPUT
        for cell in group.cells:
            if cell in earlier:
                yield from _pair(TWO_STUDIES, cell, cell, (pace, CPU, MEMORY))
    rated, before = (
        dict.fromkeys(without_rate(each) for each in scope.cells if is_open_loop(each.parameters))
        for scope in (now, then)
    )
    for objective in now.objectives:
        if objective in then.objectives:
            for cell in filter(before.__contains__, rated):
                yield from _pair(TWO_STUDIES, cell, cell, (CAPACITY.format(objective),))


def without_rate(cell: Cell) -> Cell:
    """The cell without its rate: capacity is one figure of all rates."""
    return replace(cell, parameters=Parameters.of(cell.parameters).without(RATE))
