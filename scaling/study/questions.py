"""The comparisons of a study: every question as the pairs of cells whose ratio answers it.

A question is a generator of `AskedRatio`, registered by `@question`; to add a comparison, add one.
The plan asks the questions to know which cells to measure side by side, the analysis to know which
ratios to estimate (`scaling.analysis.tables.ratios`). Tables and plots select from these ratios.
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
CPU_OF_ALL = "stack_cpu_s_per_op"  # of the workers, their services and servers
CAPACITY = "capacity at {}"  # with the text of an objective
BASE_LOOP = "asyncio"
OVER_PROCESSES, OVER_THREADS = "over processes", "over threads"
OVER_SERVER = "over a server"
OVER_SMALLEST_POOL = "pool"
POOL = "pool"  # a parameter: how many threads each loop's pool has
CONNECTION = "connection_bytes"
# Parameters that say where workers share data, each with the value that puts it into a server.
IN_SERVER = {"cache": "valkey", "through": "broker"}


@dataclass(frozen=True, slots=True)
class AskedRatio:
    """A ratio that a question asks for: the measure of one cell over that of another.

    The ratio is `of` a cell, over the strongest cell in `among`: the one with the best median of
    the measure. Only blocks count in which each cell in `along` has a value. `name` is what a step
    of the ladder changes. `headline`: the question is first of all about this ratio.
    """

    question: str
    measure: str
    of: Cell
    among: tuple[Cell, ...]
    headline: bool = False
    along: tuple[Cell, ...] = ()
    name: str = ""


type Question = Callable[[Scope], Iterator[AskedRatio]]
QUESTIONS: dict[str, Question] = {}


def question(ask: Question) -> Question:
    """Register a question. Questions are asked in the order of the functions below."""
    QUESTIONS[ask.__name__] = ask
    return ask


def every_ratio(scope: Scope) -> list[AskedRatio]:
    """All ratios of a study, question by question inside each section; capacities at the end."""
    places = {key: at for at, key in enumerate(dict.fromkeys(map(section_of, scope.cells)))}
    found = [asked for ask in QUESTIONS.values() for asked in ask(scope)]
    return sorted(found, key=lambda each: places.get(section_of(each.of), len(places)))


def _closed(scope: Scope) -> list[Section]:
    return [section for section in sections(scope) if not section.is_open_loop]


def _pace(section: Section) -> str:
    """Throughput, or P99 in an open loop, where the schedule decides the throughput."""
    return P99 if section.is_open_loop else THROUGHPUT


def _pair(
    name: str,
    section: Section,
    of: Cell,
    over: Cell,
    measures: Iterable[str],
    *,
    headline: bool = True,
) -> Iterator[AskedRatio]:
    """A ratio of each measure, if both cells were measured.

    With `headline` the ratio of throughput at the headline N is a headline ratio.
    """
    if len(section.scope.measured((of, over))) == 2:
        at_headline_n = headline and of.workers == section.headline_n
        for measure in measures:
            yield AskedRatio(name, measure, of, (over,), at_headline_n and measure == THROUGHPUT)


# ------------------------------------------------------------------------------ the questions


@question
def gains(scope: Scope) -> Iterator[AskedRatio]:
    """The gain of more workers: N workers over one of the same arm and model.

    Headline ratios are of the curves that the study is about, each at its own headline N.
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
                yield AskedRatio("gain", THROUGHPUT, of, (one,), first)


def _subjects(section: Section) -> list[list[Cell]]:
    """The curves that a study is about: threads without the GIL, or all curves if it has none.

    A study is not about processes of another runtime: they show what the machine can do.
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
def ladder(scope: Scope) -> Iterator[AskedRatio]:
    """The ladder of a version: its headline ratio, and the factor of each of its steps.

        3.14 → 3.14+mimalloc → 3.14t+gil → 3.14t        allocator × build × GIL = headline

    In each block the product of the factors is the headline ratio exactly: every rung between the
    ends is once a numerator and once a divisor, and only blocks with all rungs count. A rung that
    was not measured in enough blocks is left out, and the step across it has both names.
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
            yield AskedRatio("headline", THROUGHPUT, top, (bottom,), headline, along=rungs)
            for before, after in pairwise(rungs):
                name = version.changes(before.arm, after.arm)
                yield AskedRatio("step", THROUGHPUT, after, (before,), along=rungs, name=name)


@question
def over_processes(scope: Scope) -> Iterator[AskedRatio]:
    """Threads and interpreters over processes at the same N: which to ship?

    Threads of every version's free arm, and interpreters of any arm, are compared with the best
    that people can have today: N processes, fresh or forked, on `3.14` or `3.14+mimalloc`. Each
    measure has its own baseline: the most throughput, the least CPU time, the least memory. Where
    several candidates are alike, noise decides which one is the baseline, so the comparison favours
    processes, by less than the noise of a run. Memory is compared with fresh and with forked
    processes: forked ones share the pages of what was loaded before the fork.

    In an open loop P99 takes the place of throughput. If the study states no objective, the ratio
    of threads at the middle rate and headline N is a headline ratio.
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
            yield AskedRatio(OVER_PROCESSES, _pace(section), of, among, headline)
            yield AskedRatio(OVER_PROCESSES, CPU, of, among)
            kinds = [tuple(each for each in among if each.model == kind) for kind in PROCESSES]
            for alike in [among] if is_open else filter(None, kinds):
                yield AskedRatio(OVER_PROCESSES, MEMORY, of, alike)


def _challengers(section: Section) -> Iterator[tuple[VersionArms, Cell]]:
    """The measured cells that are compared with processes, each with the version of its arm."""
    for version in section.versions:
        for (arm, model), n in product(section.challengers(version), section.workers):
            if section.scope.measured([of := section.cell(arm, model, n)]):
                yield version, of


def _middle_rates(scope: Scope) -> dict[Cell, object]:
    """The middle rate of each subject of an open loop; empty if the study states an objective."""
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
def over_threads(scope: Scope) -> Iterator[AskedRatio]:
    """Mixed models over threads of one process, on the build without the GIL."""
    for section in sections(scope):
        measures = (_pace(section), CPU, MEMORY)
        for version, of in _challengers(section):
            if is_mixed(of.model):
                over = section.cell(version.free, THREADS, of.workers)
                yield from _pair(OVER_THREADS, section, of, over, measures, headline=False)


@question
def over_server(scope: Scope) -> Iterator[AskedRatio]:
    """Threads that share memory over as many processes that share a server.

    Each cache in memory, and each way for loops to reach each other, is compared with the strongest
    processes at the same other parameters. CPU time is that of all parts, the server's too. In an
    open loop P99 takes the place of throughput, and the memory of a connection is compared, too. If
    the study states no objective, the ratio at the middle rate is a headline ratio.
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
                yield AskedRatio(OVER_SERVER, measure, of, known or tuple(among), headline)


def shared_by(cell: Cell) -> str:
    """The parameter by which the workers of a cell share data in memory; empty: none."""
    given = cell.parameters
    return next(
        (each for each in IN_SERVER if given.get(each, "") not in ("", IN_SERVER[each])), ""
    )


@question
def pools(scope: Scope) -> Iterator[AskedRatio]:
    """The size of each loop's pool: each size over the smallest one measured.

    All other parameters are equal. P99 is compared at each rate, the other measures at the peak.
    """
    sizes: dict[Cell, list[Cell]] = {}
    for cell in scope.cells:
        if cell.parameters.get(POOL):
            sizes.setdefault(without(cell, POOL), []).append(cell)
    for alike in sizes.values():
        smallest, *others = sorted(alike, key=lambda each: int(str(each.parameters[POOL])))
        measures = (P99,) if is_open_loop(smallest.parameters) else (THROUGHPUT, CPU, MEMORY)
        for of, measure in product(others, measures):
            yield AskedRatio(OVER_SMALLEST_POOL, measure, of, (smallest,))


@question
def break_even(scope: Scope) -> Iterator[AskedRatio]:
    """From which N on threads without the GIL are faster than the best single worker with it.

    The single worker is a thread or a process on `3.14` or `3.14+mimalloc`, whichever is fastest:
    what somebody who runs one loop has today.
    """
    models = (THREADS, *PROCESSES)
    for section in _closed(scope):
        for version, n in product(section.versions, section.workers):
            threads = section.cell(version.free, THREADS, n)
            ones = [section.cell(*one, 1) for one in product(version.with_gil, models)]
            if scope.measured([threads]) and (single := tuple(scope.measured(ones))):
                yield AskedRatio("break-even", THROUGHPUT, threads, single)


@question
def versions(scope: Scope) -> Iterator[AskedRatio]:
    """The effect of a version of Python: each arm over that of the oldest version that has it.

        3.13 over 3.12, 3.14 over 3.12;  3.14t over 3.13t

    Other differences of two builds (compiler, PGO) are in the ratio, too, and are shown beside it
    (`scaling.analysis.build_differences`).
    """
    for section in _closed(scope):
        names = rising(each.version for each in section.versions)
        for (added, _), model, n in product(RUNGS, section.models, section.workers):
            measured = scope.measured(section.cell(name + added, model, n) for name in names)
            for of in measured[1:]:
                yield from _pair("version", section, of, measured[0], (THROUGHPUT, CPU))


@question
def settings(scope: Scope) -> Iterator[AskedRatio]:
    """The effect of a setting beside the ladder: each arm with it over the same arm without.

        3.14t+nogc over 3.14t;  3.13+io-uring over 3.13

    The divisor lacks the last setting in the arm's name.
    """
    for section in sections(scope):
        rungs = {rung for version in section.versions for rung in version.rungs}
        arms = [arm for arm in section.arms if "+" in arm and arm not in rungs]
        measures = (P99, CPU, MEMORY) if section.is_open_loop else (THROUGHPUT, CPU)
        for arm, model, n in product(arms, section.models, section.workers):
            over = section.cell(arm.rpartition("+")[0], model, n)
            yield from _pair("setting", section, section.cell(arm, model, n), over, measures)


@question
def loops(scope: Scope) -> Iterator[AskedRatio]:
    """Each other loop over asyncio, at the same arm, model and N."""
    for section in _across_loops(scope):
        for curve, n in product(section.curves, section.workers):
            other = replace(curve[0], workers=n)
            if other.loop != BASE_LOOP:
                over = replace(other, loop=BASE_LOOP)
                yield from _pair("loop", section, other, over, (THROUGHPUT, CPU))


@question
def runtimes(scope: Scope) -> Iterator[AskedRatio]:
    """Threads of each other runtime over as many threads of the first Python in the study.

    A runtime has a loop of its own, and differs from Python in everything, which is said beside the
    ratio. Processes of a runtime show what the machine can do, and are compared with nothing.
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
    """Sections of a closed loop that have several event loops, as one section each."""
    for _, members in groupby(_closed(scope), key=lambda each: section_of(each.first)):
        several = list(members)
        if len(several) > 1:
            yield Section(scope, [cell for section in several for cell in section.cells])


@question
def ladder_at_rate(scope: Scope) -> Iterator[AskedRatio]:
    """Each arm of the ladder over the one before, at the same rate of an open loop.

    Throughput, gains and break-even points are not compared in an open loop, where the schedule
    decides the throughput: N workers do the same work as one, but sooner.
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
def capacities(scope: Scope) -> Iterator[AskedRatio]:
    """Capacity at each objective: threads over processes, mixed models over threads, N over one.

    The cells have no rate. If the study states objectives, the capacity of threads over the
    strongest processes at the headline N is a headline ratio.
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
                yield AskedRatio(OVER_PROCESSES, measure, of, among, headline)
            threads = replace(of, arm=version.free, model=THREADS)
            if is_mixed(of.model) and of.arm in version.rungs and threads in known:
                yield AskedRatio(OVER_THREADS, measure, of, (threads,))
        for of in known:
            one = replace(of, workers=1)
            if of.workers > 1 and one in known:
                yield AskedRatio("gain", measure, of, (one,))
