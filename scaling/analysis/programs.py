"""Several programs side by side: what each does, loses by sharing a process, and what helps it.

A program is an application with a study of `scaling app`, and perhaps one of `scaling remedies`.
Nothing is measured or judged anew: every figure is one that these two and `scaling explain` have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scaling.analysis.losses import Attribution
from scaling.analysis.remedies import Factor, bases_of, remedies_in
from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer, Factors, Figures, Shipped
from scaling.base.vocabulary import PROCESSES
from scaling.study.questions import CPU, THREADS, THROUGHPUT


@dataclass(frozen=True, slots=True)
class Program:
    """A program: at N workers its threads, then fresh and forked processes, as far as measured.

    Of each model that has several arms, the configuration with the most requests. `over` compares
    threads with the best processes, `throughput` and `cpu` have its two factors; None where runs
    are missing. `lost` is where the time of the threads goes; None where that was not read, as of
    threads without loops. `helps` is the remedy that brings these threads most, no control; None
    where none was measured.
    """

    name: str
    figures: list[Figures]
    over: Shipped | None
    throughput: Factors | None
    cpu: Factors | None
    lost: Attribution | None
    helps: Factor | None

    @property
    def threads(self) -> Figures:
        """Those of its threads."""
        return self.figures[0]


def application_of(results: StudyResults) -> str:
    """Which application a study is of, `package.module:name`; empty of anything else."""
    cells = results.blocks.cells
    return str(cells[0].parameters.get("application", "")) if cells else ""


def programs(studies: Mapping[str, StudyResults]) -> list[Program]:
    """The programs among some studies by name, each with its remedies wherever these stand.

    A program of which no run of threads is valid is left out.
    """
    helping = {
        application_of(each): helps
        for each in studies.values()
        if each.is_of_remedies and (helps := _most_helpful(each))
    }
    return [
        program
        for name, each in studies.items()
        if (answer := each.application)
        and (program := _program(name, each, answer, helping.get(application_of(each))))
    ]


def _program(
    name: str, results: StudyResults, answer: AppAnswer, helps: Factor | None
) -> Program | None:
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
        helps=helps,
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


def _most_helpful(results: StudyResults) -> Factor | None:
    """Of the remedies proven to help threads the best; where none is, the best of all."""
    found = [
        each
        for each in remedies_in(results, bases_of(results)).throughput(THREADS)
        if not each.is_control
    ]
    proven = (each for each in found if each.ratio.verdict.side > 0)
    return next(proven, next(iter(found), None))
