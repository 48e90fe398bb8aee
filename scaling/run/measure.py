"""A prepared study is measured: from its plan to its journal, in a folder of its own."""

from dataclasses import replace
from pathlib import Path

from scaling.analysis.table.load import busy_judge_of, judge_of
from scaling.analysis.validity.finding import watched_cpus
from scaling.journal.file import JournalFile
from scaling.journal.identity import choose
from scaling.run.ceilings import generator_processes, measure_ceilings
from scaling.run.execute import Executor
from scaling.run.load import GeneratorProgram
from scaling.run.peaks import Peaks
from scaling.run.prepare import Prepared, generators_of, services_of
from scaling.run.progress import Display
from scaling.run.session import Execute, drive, is_complete
from scaling.run.time_left import ExtraTime, quiet_on
from scaling.study.load import CALIBRATION_WINDOW_S
from scaling.study.plan.cells import Plan

RESULTS = Path("results")


def folder_of(plan: Plan, output: Path | None) -> Path:
    """The folder that a study is measured in, unless that holds another one."""
    return output or RESULTS / plan.study.name


def measure(ready: Prepared, output: Path | None, display: Display) -> Path:
    """Measure what remains of a study; return the folder that it is in.

    A complete study is measured once more in another folder.

    Raises:
        UsageError: the folder cannot be used.
        InterruptedStudyError: the user stopped it; what was measured is kept.
    """
    asked, arms, first = ready.plan, ready.arms, ready.first_line()
    judge = judge_of(first)
    with services_of(ready, display.note) as services:

        def is_done(journal: JournalFile) -> bool:
            rates = journal.head.calibrations if journal.head else ()
            return is_complete(asked.at_rates(rates), journal.runs, judge)

        journal, notes = choose(folder_of(asked, output), first, is_done, ready.own_in_words)
        with journal:
            for note in notes:
                display.note(note)
            measure_ceilings(asked, journal, services, display.note)
            generators = _generators_in(ready, journal)

            def executor(plan: Plan) -> Executor:
                return Executor(plan, arms, services, generators)

            plan = asked.at_rates((journal.head or first).calibrations)
            a_second = replace(plan, study=replace(plan.study, window_s=CALIBRATION_WINDOW_S))
            peaks = Peaks(plan, executor(a_second), display.note)

            def rated() -> tuple[Plan, Execute]:
                journal.append(rates := peaks.rates())
                plan = asked.at_rates(rates.calibrations)
                return plan, executor(plan).together

            extra = ExtraTime(busy_judge_of(first), quiet_on(watched_cpus(first.machine)))
            execute = executor(plan).together
            drive(plan, journal, execute, judge, display, extra, peaks.steps, rated)
    return journal.path.parent


def _generators_in(ready: Prepared, journal: JournalFile) -> GeneratorProgram:
    """The generators of a study with the ceilings of this journal.

    A resumed study keeps the number of processes that it began with, whichever version began it.
    """
    begun = next((run.load.processes for run in journal.runs if run.load), 0)
    processes = begun or generator_processes(ready.plan, journal.ceilings, ready.topology)
    return generators_of(ready, processes)
