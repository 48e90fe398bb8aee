"""The comparisons of a study: every question as the pairs of cells whose ratio answers it.

A question is a generator of `Asked`, registered by `@question`; to add a comparison, add one. The
plan takes from it which cells have to be measured side by side, the analysis which ratios to
estimate (`scaling.analysis.tables.ratios`); all that is shown selects from these.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise, product

from msgspec.structs import replace

from scaling.base.models import PROCESSES, THREADS, is_mixed
from scaling.builds.arms import RUNGS, VersionArms, free_arms, rising
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Cell
from scaling.study.load import RATE, is_open_loop, middle
from scaling.study.sections import (
    Scope,
    Section,
    ones_of,
    section_of,
    sections,
    subject_of,
    without,
    without_rate,
)

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


type Question = Callable[[Scope], Iterator[Asked]]
QUESTIONS: dict[str, Question] = {}


def question(ask: Question) -> Question:
    """Register a question. Their order is that of the functions below."""
    QUESTIONS[ask.__name__] = ask
    return ask


def every_ratio(scope: Scope) -> list[Asked]:
    """All ratios of a study, question by question inside each section; capacities at the end."""
    places = {key: at for at, key in enumerate(dict.fromkeys(map(section_of, scope.cells)))}
    found = [asked for ask in QUESTIONS.values() for asked in ask(scope)]
    return sorted(found, key=lambda each: places.get(section_of(each.of), len(places)))


def _closed(scope: Scope) -> list[Section]:
    return [section for section in sections(scope) if not section.is_open_loop]


def _pace(section: Section) -> str:
    """What takes the place of throughput in an open loop, where that is the schedule's."""
    return P99 if section.is_open_loop else THROUGHPUT


def _pair(
    name: str,
    section: Section,
    of: Cell,
    over: Cell,
    measures: Iterable[str],
    *,
    headline: bool = True,
) -> Iterator[Asked]:
    """A ratio of each measure, if both cells were measured. That of throughput at the headline N
    answers a question that has a `headline`.
    """
    if len(section.scope.measured((of, over))) == 2:
        at_headline_n = headline and of.workers == section.headline_n
        for measure in measures:
            yield Asked(name, measure, of, (over,), at_headline_n and measure == THROUGHPUT)


# ------------------------------------------------------------------------------ the questions


@question
def gains(scope: Scope) -> Iterator[Asked]:
    """What more workers gain: N workers over one of the same arm and model.

    The headline is that of a curve that the study is about, at its own headline N.
    """
    for section in _closed(scope):
        subjects = _subjects(section)
        for curve in section.curves:
            one = next(iter(scope.measured(ones_of(curve[0]))), None)
            if one is None:
                continue
            several = scope.measured(each for each in curve if each.workers > 1)
            on_cores = [each for each in several if scope.region(each) == "cores"]
            headline = max(on_cores or several, key=lambda each: each.workers, default=None)
            for of in several:
                first = of == headline and curve in subjects
                yield Asked("gain", THROUGHPUT, of, (one,), first)


def _subjects(section: Section) -> list[list[Cell]]:
    """The curves that a study is about: threads without the GIL, or all where there are none.

    Processes of another runtime show what the machine gives: a study is not about these.
    """
    free = free_arms(section.arms)
    return [
        curve for curve in section.curves if curve[0].arm in free and curve[0].model == THREADS
    ] or [
        curve
        for curve in section.curves
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
    for section in _closed(scope):
        for version, n in product(section.versions, section.workers):
            measured = scope.measured(section.cell(arm, THREADS, n) for arm in version.rungs)
            if len(measured) < 2:
                continue
            bottom, top = measured[0], measured[-1]
            between = [each for each in measured[1:-1] if scope.enough(each, (bottom, top))]
            rungs = (bottom, *between, top)
            headline = n == section.headline_n
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

    At one rate of an open loop P99 takes the place of throughput. That of threads at the middle
    rate and headline N is the headline of a study that states no objective.
    """
    middles = _middle_rates(scope)
    for section in sections(scope):
        is_open = section.is_open_loop
        for version, of in _challengers(section):
            if not (among := section.rivals(version, of)):
                continue
            is_subject = of.model == THREADS or (is_mixed(of.model) and not is_open)
            is_first = is_subject and (not is_open or _is_middle(section, middles))
            headline = is_first and of.workers == section.headline_n
            yield Asked(OVER_PROCESSES, _pace(section), of, among, headline)
            yield Asked(OVER_PROCESSES, CPU, of, among)
            kinds = [tuple(each for each in among if each.model == kind) for kind in PROCESSES]
            for alike in [among] if is_open else filter(None, kinds):
                yield Asked(OVER_PROCESSES, MEMORY, of, alike)


def _challengers(section: Section) -> Iterator[tuple[VersionArms, Cell]]:
    """What is compared with processes, as far as it was measured, with the version of its arm."""
    for version in section.versions:
        for (arm, model), n in product(section.challengers(version), section.workers):
            if section.scope.measured([of := section.cell(arm, model, n)]):
                yield version, of


def _middle_rates(scope: Scope) -> dict[Cell, object]:
    """The middle rate of every subject of an open loop, if the study states no objective."""
    rates: dict[Cell, set[float]] = {}
    for cell in () if scope.objectives else scope.cells:
        rate = cell.parameters.get(RATE)
        if is_open_loop(cell.parameters) and isinstance(rate, int | float):
            rates.setdefault(subject_of(cell), set()).add(float(rate))
    return {subject: middle(found) for subject, found in rates.items()}


def _is_middle(section: Section, middles: Mapping[Cell, object]) -> bool:
    rate = section.first.parameters.get(RATE)
    return section.is_open_loop and rate == middles.get(subject_of(section.first))


@question
def over_threads(scope: Scope) -> Iterator[Asked]:
    """Processes with several threads each over threads of one process, on the build without GIL."""
    for section in sections(scope):
        measures = (_pace(section), CPU, MEMORY)
        for version, of in _challengers(section):
            if is_mixed(of.model):
                over = section.cell(version.free, THREADS, of.workers)
                yield from _pair(OVER_THREADS, section, of, over, measures, headline=False)


@question
def over_server(scope: Scope) -> Iterator[Asked]:
    """What all threads share over as many processes with a server: what sharing memory brings.

    Each cache in memory, and each way of loops to reach each other, is compared at the same other
    parameters with the strongest processes. CPU time is that of all parts, the server's too. In an
    open loop P99 takes the place of throughput: that of the middle rate is the headline of a study
    that states no objective. With connections that stay open, memory for each is compared, too.
    """
    middles = _middle_rates(scope)
    for section in sections(scope):
        shared = shared_by(section.first)
        if not shared:
            continue
        theirs = {**section.first.parameters, shared: IN_SERVER[shared]}
        is_middle = _is_middle(section, middles)
        for arm, n in product(free_arms(section.arms), section.workers):
            of = section.cell(arm, THREADS, n)
            among = [
                each
                for each in scope.cells
                if each.model in PROCESSES
                and each == replace(of, parameters=theirs, arm=each.arm, model=each.model)
            ]
            if not (among and scope.measured([of])):
                continue
            for measure in (_pace(section), CPU_OF_ALL, *[CONNECTION] * section.is_open_loop):
                known = tuple(scope.measured(among, measure))
                headline = measure == P99 and is_middle and n == section.headline_n
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
            sizes.setdefault(without(cell, POOL), []).append(cell)
    for alike in sizes.values():
        smallest, *others = sorted(alike, key=lambda each: int(str(each.parameters[POOL])))
        measures = (P99,) if is_open_loop(smallest.parameters) else (THROUGHPUT, CPU, MEMORY)
        for of, measure in product(others, measures):
            yield Asked(OVER_SMALLEST_POOL, measure, of, (smallest,))


@question
def break_even(scope: Scope) -> Iterator[Asked]:
    """From how many threads without the GIL on they beat the best single worker with it.

    That is the fastest of what one worker on `3.14` or `3.14+mimalloc` did, as a thread or as a
    process: the choice that a person has who runs one loop today.
    """
    models = (THREADS, *PROCESSES)
    for section in _closed(scope):
        for version, n in product(section.versions, section.workers):
            threads = section.cell(version.free, THREADS, n)
            ones = [section.cell(*one, 1) for one in product(version.with_gil, models)]
            if scope.measured([threads]) and (single := tuple(scope.measured(ones))):
                yield Asked("break-even", THROUGHPUT, threads, single)


@question
def versions(scope: Scope) -> Iterator[Asked]:
    """What the versions of Python changed: each arm over that of the oldest version that has it.

        3.13 over 3.12, 3.14 over 3.12;  3.14t over 3.13t

    What else two builds differ in (another compiler, PGO) is in the ratio, too, and must be shown
    beside it (`scaling.analysis.build_differences`).
    """
    for section in _closed(scope):
        names = rising(each.version for each in section.versions)
        for (added, _), model, n in product(RUNGS, section.models, section.workers):
            measured = scope.measured(section.cell(name + added, model, n) for name in names)
            for of in measured[1:]:
                yield from _pair("version", section, of, measured[0], (THROUGHPUT, CPU))


@question
def settings(scope: Scope) -> Iterator[Asked]:
    """What a setting beside the ladder changes: each arm with it over the same arm without.

        3.14t+nogc over 3.14t;  3.13+io-uring over 3.13

    Of an arm with several, the last one of its name is left out.
    """
    for section in sections(scope):
        rungs = {rung for version in section.versions for rung in version.rungs}
        arms = [arm for arm in section.arms if "+" in arm and arm not in rungs]
        measures = (P99, CPU, MEMORY) if section.is_open_loop else (THROUGHPUT, CPU)
        for arm, model, n in product(arms, section.models, section.workers):
            over = section.cell(arm.rpartition("+")[0], model, n)
            yield from _pair("setting", section, section.cell(arm, model, n), over, measures)


@question
def loops(scope: Scope) -> Iterator[Asked]:
    """Each other loop over asyncio, at the same arm, model and N."""
    for section in _across_loops(scope):
        for curve, n in product(section.curves, section.workers):
            other = replace(curve[0], workers=n)
            if other.loop != BASE_LOOP:
                over = replace(other, loop=BASE_LOOP)
                yield from _pair("loop", section, other, over, (THROUGHPUT, CPU))


@question
def runtimes(scope: Scope) -> Iterator[Asked]:
    """Threads of each other runtime over as many of the first Python that the study names.

    A runtime has a loop of its own. The two differ in everything, which must be shown beside the
    ratio. Its processes are what the machine gives without an interpreter: nothing is compared
    with these.
    """
    for section in _across_loops(scope):
        pythons = (
            cell.arm
            for cell in section.cells
            if (cell.loop, cell.model) == (BASE_LOOP, THREADS) and cell.arm not in RUNTIMES
            if scope.measured([cell])
        )
        python = next(pythons, None)
        for curve, n in product(section.curves if python else (), section.workers):
            other = replace(curve[0], workers=n)
            if other.arm in RUNTIMES and other.model == THREADS:
                over = replace(other, arm=python, loop=BASE_LOOP)
                yield from _pair("runtime", section, other, over, (THROUGHPUT, CPU))


def _across_loops(scope: Scope) -> Iterator[Section]:
    """The cells of each section of a closed loop that has several loops."""
    for _, members in groupby(_closed(scope), key=lambda each: section_of(each.first)):
        several = list(members)
        if len(several) > 1:
            yield Section(scope, [cell for section in several for cell in section.cells])


@question
def ladder_at_rate(scope: Scope) -> Iterator[Asked]:
    """Each arm of the ladder over the one before, at the same rate of an open loop.

    Throughput is the schedule's there, so it is not compared; N workers at a rate do not do more
    than one at the same rate, but do it sooner, so gains and break-even points have no meaning.
    """
    for section in sections(scope):
        steps = (
            product(section.versions, section.models, section.workers)
            if section.is_open_loop
            else ()
        )
        for version, model, n in steps:
            rungs = scope.measured(section.cell(arm, model, n) for arm in version.rungs)
            for before, after in pairwise(rungs):
                yield from _pair("step", section, after, before, (P99, CPU, MEMORY))


@question
def capacities(scope: Scope) -> Iterator[Asked]:
    """Capacity at each objective: of threads over that of processes, and of N workers over one.

    The cells have no rate. Capacity of threads over the strongest processes at the headline N is
    the headline of a study that states objectives.
    """
    loaded = [cell for cell in scope.cells if is_open_loop(cell.parameters)]
    cells = list(dict.fromkeys(map(without_rate, loaded)))
    parts = groupby(cells, key=lambda each: (section_of(each), each.loop))
    alike = [list(members) for _, members in parts]
    for objective, members in product(scope.objectives, alike):
        measure = CAPACITY.format(objective)
        known = scope.measured(members, measure)
        section = Section(scope, known or members)
        for version, of in product(section.versions, known):
            among = tuple(
                each
                for each in known
                if each.arm in version.with_gil
                and each.model in PROCESSES
                and each.workers == of.workers
            )
            if (of.arm, of.model) in section.challengers(version) and among:
                headline = of.model == THREADS and of.workers == section.headline_n
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
    for section in sections(now):
        for cell, measure in product(section.cells, (_pace(section), CPU, MEMORY)):
            if cell in earlier:
                yield Asked(TWO_STUDIES, measure, cell, (cell,))
    rated, before = (
        dict.fromkeys(without_rate(each) for each in scope.cells if is_open_loop(each.parameters))
        for scope in (now, then)
    )
    for objective in now.objectives:
        if objective in then.objectives:
            for cell in filter(before.__contains__, rated):
                yield Asked(TWO_STUDIES, CAPACITY.format(objective), cell, (cell,))
