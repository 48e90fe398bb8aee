"""`scaling plan`: what a study would run, or what remains of it."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from scaling.base.console import new_console, say
from scaling.cli.program import DIR, NOTHING_ASKED, StudyAsked, command

MEASURED = (
    "Print what is measured in this folder, and what remains. Without options that describe a "
    "study, it is the folder's own study."
)


@command(50, "plan --study compare --workers 1,2,4")
def plan(
    asked: StudyAsked = NOTHING_ASKED,
    *,
    output: Annotated[Path | None, DIR, Parameter(help=MEASURED)] = None,
) -> None:
    """Print what a study would run, what it cannot run and why, and how long it would take."""
    from scaling.analysis.forecast import forecast
    from scaling.run.measure import folder_of
    from scaling.run.prepare import prepared
    from scaling.run.remaining_work import read_runs, shown, work_in
    from scaling.study.plan.table import plan_view

    console, progress = new_console(), partial(say, new_console(stderr=True))
    if output is None:
        with prepared(asked.options, asked.wanted, progress) as study:
            console.print(plan_view(study.plan))
            for line in forecast(study.plan, folder_of(study.plan, None)):
                say(console, line)
        return
    measured = read_runs(output, progress)
    same = not asked.flags
    file = measured.file if same else None
    with prepared(asked.options, asked.wanted, progress, file) as study:
        console.print(shown(work_in(measured, study, same=same)))
