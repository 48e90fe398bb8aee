"""Several studies side by side: an earlier and a later one, several machines, several programs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from scaling.analysis.losses import Attribution
from scaling.analysis.ratios import Ratio, Ratios, ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer, Factors, Figures, Shipped
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base.vocabulary import PROCESSES, THREADS
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import Cell, StudyLine
from scaling.study.questions import CPU, OVER_PROCESSES, P99, THROUGHPUT, two_studies

# -------------------------------------------------------------------------------------- two studies
# The same cells in two studies: yesterday's and today's.
#
# Their runs were not made in the same blocks, so nothing pairs them, and whatever else changed is
# shown beside the figures. What is compared is in `scaling.study.questions.two_studies`, the rule
# in `scaling.analysis.ratios`.

# Options that may differ between two studies without any cell being measured differently. With
# strong sizing the largest N of a workload is not one of them: it decides what is in flight.
HARMLESS = frozenset(
    {"name", "preset", "blocks", "seed", "arms", "workloads", "models", "loops", "sizing", "margin"}
    | {"workers", "aa_pairs"}
)


class Across:
    """A study and an earlier one, `then`: the cells they share, their ratios, what else differs.

    Only cells are compared that `keep` lets pass. All verdicts are exploratory.
    """

    def __init__(
        self, then: StudyResults, now: StudyResults, keep: Callable[[Cell], bool] | None = None
    ) -> None:
        self.then = then
        self.now = now
        self._keep = keep or (lambda _: True)

    @cached_property
    def cells(self) -> list[Cell]:
        """Those of both, in the later one's order."""
        earlier = set(self.then.blocks.cells)
        return [each for each in self.now.blocks.cells if each in earlier and self._keep(each)]

    @cached_property
    def ratios(self) -> Ratios:
        """Now over then, cell by cell."""
        now, then = self.now.blocks, self.then.blocks
        asked = (each for each in two_studies(now, then) if self._keep(each.of))
        return ratios(now, asked, then=then)

    def is_measured(self, cell: Cell) -> bool:
        """Whether both studies have a valid run of a cell."""
        both = (study.points.get(cell) for study in (self.then, self.now))
        return all(point is not None and point.throughput.n for point in both)

    def without_run(self, study: StudyResults) -> list[str]:
        """The names of the cells of both in which one of the studies has no valid run."""
        points, names = study.points, study.names
        return [names[each] for each in self.cells if not points[each].throughput.n]

    @property
    def across_states(self) -> list[Cell]:
        """The cells whose runs were in different allocator states in the two studies."""

        def states(cell: Cell) -> set[str | None]:
            return {each.points[cell].allocator_state for each in (self.then, self.now)}

        measured = filter(self.is_measured, self.cells)
        return [cell for cell in measured if len(states(cell) - {None}) > 1]

    @property
    def differences(self) -> tuple[str, ...]:
        """What else is not the same in both."""
        return _comparable(self.now.study).differences(_comparable(self.then.study))

    @property
    def is_backwards(self) -> bool:
        """Whether the study called the earlier one was begun after the other."""
        began = [each.study.started_at for each in (self.then, self.now)]
        return None not in began and began != sorted(map(str, began))


def _comparable(study: StudyLine) -> Identity:
    same = identity_of(study)
    options = {name: value for name, value in same.study.items() if name not in HARMLESS}
    if largest := _dealt_out_over(same.study):
        options["workers"] = largest
    return replace(same, study=options)


def _dealt_out_over(study: Mapping[str, Any]) -> dict[str, int]:
    """The largest N of each workload that has strong sizing, as a settled study names them."""
    entries = study.get("workloads") or []
    strong = {entry["name"] for entry in entries if "strong" in (entry.get("sizing") or ())}
    largest: dict[str, int] = {}
    for entry in entries:
        if (name := entry["name"]) in strong:
            largest[name] = max([largest.get(name, 1), *(entry.get("workers") or ())])
    return largest


# ----------------------------------------------------------------------------------------- machines
# The same questions on several machines: each machine's verdict, and what holds on all of them.
#
# A machine's verdicts are those of its own study. That a conclusion holds on all is an
# intersection–union test (R. L. Berger, Technometrics 24 (1982)): each machine must show it at the
# level of a single test, and no correction is needed for how many there are.

type Holds = Literal["everywhere", "not everywhere", "undecided"]

UNDECIDED = "inconclusive"
# Questions whose baseline is the best that the machine has: another arm or model on each, perhaps.
BEST = (OVER_PROCESSES, "break-even")


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One ratio of a section and loop on every machine that measured it, by the machine's label.

    `title` names the section and loop. On each machine it is of the same configurations; where it
    is over the best one, without the arm that was best there.
    """

    title: str
    ratio: Ratio
    found: dict[str, RatioVerdict]
    machines: int

    @property
    def words(self) -> dict[str, str]:
        """The verdict of each machine."""
        return {label: value.verdict.word for label, value in self.found.items()}

    @property
    def holds(self) -> Holds:
        """Whether all machines have the same verdict, or two of them different ones."""
        words = set(self.words.values())
        if len(words - {UNDECIDED}) > 1:
            return "not everywhere"
        if UNDECIDED in words or len(self.found) < self.machines:
            return "undecided"
        return "everywhere"


def conclusions(machines: Mapping[str, StudyResults]) -> list[Conclusion]:
    """The ratios of throughput (in an open loop: of P99) at an N that is the headline of some
    machine, in the order of the first that has them. A machine with fewer cores may lack some.
    """
    every: dict[object, Conclusion] = {}
    shown = set()
    for label, results in machines.items():
        for compared in results.judged:
            for ratio in compared.ratios.where(keep=lambda each: each.measure in (THROUGHPUT, P99)):
                asked = _without_best(ratio)
                place = asked.question, asked.measure, asked.name, asked.of, asked.over
                new = Conclusion(compared.title, asked, {}, len(machines))
                every.setdefault(place, new).found[label] = ratio
                if ratio.of.workers == compared.headline_n:
                    shown.add(place)
    return [each for place, each in every.items() if place in shown]


def _without_best(ratio: Ratio) -> Ratio:
    if ratio.question not in BEST:
        return ratio
    model = ratio.over.model if ratio.question == OVER_PROCESSES else ""
    return replace(ratio, over=ratio.over.but(arm="", model=model))


# ----------------------------------------------------------------------------------------- programs
# Several programs side by side: what each does, and what it loses by sharing a process.
#
# A program is an application with a study of `scaling app`. Nothing is measured or judged anew:
# every figure is one that `scaling app` and `scaling explain` have.


@dataclass(frozen=True, slots=True)
class Program:
    """A program: at N workers its threads, then fresh and forked processes, as far as measured.

    Of each model that has several arms, the configuration with the most requests. `over` compares
    threads with the best processes, `throughput` and `cpu` have its two factors; None where runs
    are missing. `lost` is where the time of the threads goes; None where that was not read, as of
    threads without loops.
    """

    name: str
    figures: list[Figures]
    over: Shipped | None
    throughput: Factors | None
    cpu: Factors | None
    lost: Attribution | None

    @property
    def threads(self) -> Figures:
        """Those of its threads."""
        return self.figures[0]


def application_of(results: StudyResults) -> str:
    """Which application a study is of, `package.module:name`; empty of anything else."""
    cells = results.blocks.cells
    return str(cells[0].parameters.get("application", "")) if cells else ""


def programs(studies: Mapping[str, StudyResults]) -> list[Program]:
    """The programs among some studies by name.

    A program of which no run of threads is valid is left out.
    """
    return [
        program
        for name, each in studies.items()
        if (answer := each.application) and (program := _program(name, each, answer))
    ]


def _program(name: str, results: StudyResults, answer: AppAnswer) -> Program | None:
    figures = list(_best_of_each(answer))
    if not figures:
        return None
    factors = {each.whole.measure: each for each in answer.factors}
    over = next((each for each in answer.shipped if each.aim == "throughput"), None)
    cell = figures[0].cell
    lost = (each for each in results.attributions if each.of == cell and not each.is_rated)
    return Program(
        name=name,
        figures=figures,
        over=over,
        throughput=factors.get(THROUGHPUT),
        cpu=factors.get(CPU),
        lost=next(lost, None),
    )


def _best_of_each(answer: AppAnswer) -> Iterator[Figures]:
    """Threads first, if they were measured; the others have their loop and server."""
    ours = next((each.ratio.of for each in answer.shipped), None)
    threads = [
        each
        for each in answer.at_n
        if each.cell.model == THREADS and each.throughput_per_s.n and ours in (None, each.cell)
    ]
    if not threads:
        return
    yield threads[0]
    like = threads[0].loop, threads[0].server
    for model in PROCESSES:
        found = [
            each
            for each in answer.at_n
            if each.cell.model == model
            and (each.loop, each.server) == like
            and each.throughput_per_s.n
        ]
        if found:
            yield max(found, key=lambda each: each.throughput_per_s.point)
