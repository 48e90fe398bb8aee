"""`scaling plan`: a study before it is measured, or how much of it is measured."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from scaling.base.console import new_console, say
from scaling.cli.program import DIR, NOTHING_ASKED, Asked, command

MEASURED = (
    "Also print what is measured in this folder, and what remains. Without options that describe "
    "a study, it is the folder's own study."
)


@command(50, "plan --study compare --workers 1,2,4")
def plan(
    asked: Asked = NOTHING_ASKED,
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
        with prepared(asked.options, asked.wanted, progress) as ready:
            console.print(plan_view(ready.plan))
            for line in forecast(ready.plan, folder_of(ready.plan, None)):
                say(console, line)
        return
    measured = read_runs(output, progress)
    same = not asked.flags
    file = measured.file if same else None
    with prepared(asked.options, asked.wanted, progress, file) as ready:
        console.print(shown(work_in(measured, ready, same=same)))
