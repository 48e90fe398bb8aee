"""`scaling explain`: why it does not scale."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import PATH, WITH, Results, Texts, app, folder

if TYPE_CHECKING:
    from scaling.journal.beside import Profile

PROFILE = "Names of functions (--profile)"
PAIRS = 5


@app.command(epilog="Example: scaling explain results/compare --details")
def explain(
    results: Results,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: every term of every cell.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every term of every cell.")
    ] = False,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Run one cell again at N = 1 and at N, and print which functions gained time.",
            rich_help_panel=PROFILE,
        ),
    ] = False,
    cell: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Which cell, by some of its words: echo uvloop 3.14t. By default that of threads "
            "without the GIL that loses most.",
            rich_help_panel=PROFILE,
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help=f"How many pairs of runs, at N = 1 and at N ({PAIRS}).",
            rich_help_panel=PROFILE,
        ),
    ] = None,
    path: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help=PATH,
            rich_help_panel=PROFILE,
        ),
    ] = None,
    with_: Annotated[
        Texts,
        typer.Option(
            "--with",
            metavar="REQUIREMENT",
            help=WITH,
            rich_help_panel=PROFILE,
        ),
    ] = None,
) -> None:
    """Say where the time goes that N workers lose against one, with intervals."""
    from scaling.report.explain import explain, show_profile

    of_profiles = {"--cell": cell, "--pairs": pairs, "--path": path, "--with": with_}
    given = [flag for flag, value in of_profiles.items() if value not in (None, [])]
    if given and not profile:
        raise UsageError(f"explain: {given[0]} needs --profile: every cell is explained without it")
    json_to = new_console() if as_json else None
    console = new_console(stderr=as_json)
    if profile:
        count = PAIRS if pairs is None else pairs
        made = _profiled(results, cell, count, path or (), with_ or ())
        show_profile(results, made, console, json_to=json_to)
    else:
        explain(results, console, json_to=json_to, details=details)


def _profiled(
    results: Path, cell: str | None, pairs: int, paths: Sequence[Path], requirements: Sequence[str]
) -> "Profile":
    """Sample a cell of a study in new runs, and write its profile beside the journal.

    Raises:
        UsageError: there is no such study or cell, or the study cannot be run here.
        ScalingError: nothing can be sampled, or the file cannot be written.
    """
    from scaling.analysis.function_gains import FEWEST_PAIRS
    from scaling.journal.beside import PROFILES_FILE
    from scaling.run.measure import ChildNeeds, prepared
    from scaling.run.profile.profiling import choose, profiled
    from scaling.run.progress import display
    from scaling.run.remaining_work import read_runs
    from scaling.study.definition import Options

    if pairs < FEWEST_PAIRS:
        raise UsageError(f"--pairs {pairs}: an interval takes {FEWEST_PAIRS} or more")
    folders = [str(folder(path)) for path in paths]
    errors = new_console(stderr=True)
    note = partial(say, errors)
    measured = read_runs(results, note)
    profiles = PROFILES_FILE.read_to_add(measured.path.parent)
    chosen = choose(measured.head, measured.runs, cell)
    note(f"profiling {chosen.text}: N = 1 against N = {chosen.several.workers}")
    wanted = ChildNeeds(paths=folders, requirements=tuple(requirements))
    options = Options(arm=[chosen.several.arm])
    with prepared(options, wanted, note, measured.file) as ready:
        profile = profiled(ready, measured.head, measured.ceilings, chosen, pairs, display(errors))
    others = [each for each in profiles if each.cell != profile.cell]
    PROFILES_FILE.write(measured.path.parent, [*others, profile])
    return profile
