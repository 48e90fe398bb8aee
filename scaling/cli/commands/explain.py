"""`scaling explain`: where the time goes that several workers lose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import (
    DIR,
    FILE,
    REQUIREMENT,
    Host,
    Json,
    Results,
    command,
    folder,
    heading,
    of_kind,
)
from scaling.study.kinds import LONGEST_S, Kind

WHOLE_SECONDS = Kind(of=int, least=1, most=LONGEST_S, noun="seconds", metavar="SECONDS")
PROFILERS = "Profilers (--hold)"


@Parameter(name="*", group=heading(PROFILERS))
@dataclass(frozen=True, kw_only=True)
class Held:
    """Options for the cell that loses most, which is kept running."""

    hold: Annotated[int | None, of_kind(WHOLE_SECONDS, group=PROFILERS)] = None
    """Run the cell that loses most for this long; print its PID and the commands of profilers."""
    path: Annotated[tuple[Path, ...], DIR] = ()
    """A folder that your own workload is imported from."""
    with_: Annotated[tuple[str, ...], REQUIREMENT] = ()
    """A requirement of your own workload, as in requirements.txt."""
    requests: Annotated[Path | None, FILE] = None
    """Requests to your application, a file as for `scaling app` (GET / alone)."""
    host: Host = ""


@command(120, "explain results/compare --details")
def explain(
    results: Results,
    /,
    *,
    as_json: Json = False,
    details: bool = False,
    held: Held = Held(),
) -> None:
    """Show where N workers lose time against one worker, with intervals.

    Args:
        details: Print every term of every cell.
    """
    from scaling.report.explain import explain

    of_hold = ("path", "with_", "requests", "host")
    given = [name.rstrip("_") for name in of_hold if getattr(held, name)]
    if given and held.hold is None:
        raise UsageError(f"explain: --{given[0]} needs --hold: without --hold nothing is run")
    if held.hold is not None:
        if as_json or details:
            raise UsageError("explain: --hold prints commands: leave out --json and --details")
        _hold(results, held, held.hold)
        return
    json_to = new_console() if as_json else None
    explain(results, new_console(stderr=as_json), json_to=json_to, details=details)


def _hold(results: Path, held: Held, seconds: int) -> None:
    """Keep the cell that loses most running for `seconds`, and print what profiles it.

    Raises:
        UsageError: there is no such study or cell, or the study cannot be run here.
        ScalingError: a run failed.
    """
    from scaling.report.explain import cell_to_profile, in_words, lost, profiler_commands
    from scaling.report.files import read
    from scaling.run.app_requests import read_requests_file, requirements_of
    from scaling.run.hold import hold
    from scaling.run.prepare import ChildNeeds, prepared
    from scaling.study.definition import Options
    from scaling.study.file import study_file_of

    console, note = new_console(), partial(say, new_console(stderr=True))
    sent: Sequence[dict[str, Any]] = ()
    if held.requests:
        sent, _ = read_requests_file(held.requests, note, held.host)
    study = read(results, console)
    cell = cell_to_profile(study, lost(study))
    if cell is None:
        raise UsageError("explain: --hold needs a cell of CPython at N > 1 with readings")
    paths = [str(folder(each)) for each in held.path]
    needs = ChildNeeds(paths=paths, requirements=[*held.with_, *requirements_of(sent)])
    options = Options(said={"arms": (cell.arm,), "window_s": float(seconds)})
    file = study_file_of(study.line.study, str(results))
    with prepared(options, needs, note, file) as held_study:

        def started(pids: Sequence[int]) -> None:
            where = f"PID {', '.join(map(str, pids))}"
            say(console, f"{in_words(cell)}: running for {seconds} s, {where}")
            for line in profiler_commands(cell, seconds, held_study.arms[cell.arm].program, pids):
                say(console, f"  {line}")

        figure = hold(replace(held_study, requests=sent), study.ceilings, cell, seconds, started)
    say(console, f"ended: {figure}")
