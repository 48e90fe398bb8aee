"""A study that measures nothing: real plan, real journal, real driver, runs made up in no time."""

import random
from collections.abc import Callable
from pathlib import Path

from scaling.base.console import new_console
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.record import CeilingLine, RunLine
from scaling.machine.topology import Topology
from scaling.run.progress import Display, PlainLines
from scaling.run.session import Batch, Done, drive
from scaling.study.definition import Options
from scaling.study.file import study_from
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.order import PlannedRun
from tests.faults.records import Key, key_of
from tests.support.descriptions import description
from tests.support.runs import with_
from tests.support.studies import FakeStudy

MADE = FakeStudy(ticks=2)
CEILING = CeilingLine(service="site", parameters={"pages": 1}, requests_per_s=1_000.0)


def plan(workload: str = "echo,compute", workers: str = "1,2") -> Plan:
    """The plan of two blocks."""
    options = Options(
        workload=(workload,),
        workers=(workers,),
        blocks=2,
        seconds=1.0,
        controls=False,
        aa_pairs=False,
    )
    study = study_from(options, running_build="3.14t")
    return make_plan(study, {"3.14t": description()}, Topology(logical_cpus=2, physical_cores=2))


def pretend(run: PlannedRun) -> tuple[RunLine, bytes | None]:
    """A run without fault."""
    line = MADE.run(run.cell, random.Random(run.position))
    return with_(line, block=run.block, position=run.position, attempt=run.attempt), None


def do_study(
    folder: Path,
    wanted: Plan,
    execute: Callable[[PlannedRun], tuple[RunLine, bytes | None]] = pretend,
    acknowledge: Callable[[Key], None] = lambda key: None,
) -> None:
    """Do what remains of the study in a folder; each run in the journal is acknowledged.

    Raises:
        ScalingError: the journal cannot be used or written.
    """
    with JournalFile(folder / FILE_NAME) as journal:
        if journal.head is None:
            journal.append(MADE.first_line)
        if not journal.ceilings:
            journal.append(CEILING)

        def done(runs: Batch) -> list[Done]:
            made = []
            for run in runs:
                for line in journal.runs:
                    acknowledge(key_of(line))
                made.append(execute(run))
            return made

        drive(wanted, journal, done, lambda line: None, quiet())
        for line in journal.runs:
            acknowledge(key_of(line))


def quiet() -> Display:
    """A display whose lines nobody sees."""
    console = new_console()
    console.quiet = True
    return PlainLines(console)


def keys_of(wanted: Plan) -> set[Key]:
    """All that a complete journal has."""
    return {key_of(pretend(run)[0]) for run in wanted.runs}
