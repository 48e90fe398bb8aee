"""`scaling explain`: where the time of each cell goes, printed or as JSON."""

import shlex
from pathlib import Path

from rich.console import Console

from scaling.analysis.attribution.cells import Attribution
from scaling.analysis.results import StudyResults
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.journal.profile import Profile, read_profiles
from scaling.report.export.explained import explained_json
from scaling.report.reading import read
from scaling.report.tables.loss_sentences import LEGEND
from scaling.report.terminal.profile import ProfileView
from scaling.report.terminal.waterfall import InShort, Waterfalls
from scaling.study.caveats import caveats


def explain(
    results: Path, console: Console, *, json_to: Console | None = None, details: bool = False
) -> None:
    """Print what the cells of the study in `results` lose against N = 1, as JSON to `json_to`.

    Those of threads without the GIL that lose most are explained, other cells have a row. With
    `details` every term of every cell is printed, as in JSON.

    Raises:
        UsageError: there is no journal that could be read, or nothing in it can be explained.
    """
    study = StudyResults.of(read(results, console))
    _require_readings(study)
    if json_to is not None:
        say(json_to, explained_json(study))
        return
    for warning in filter(None, (study.soundness.warning, *caveats(study.study))):
        say(console, warning)
    every = sorted(study.attributions, key=lambda each: each.runs.section.is_control)
    if details:
        console.print(Waterfalls(every))
        left = 0
    else:
        asked = [each for each in every if not _is_aside(each)]
        short = InShort(asked or every)
        console.print(short)
        left = len(every) - short.shown
    console.print(LEGEND, style="dim")
    for profile in read_profiles(study.path.parent) if study.path else ():
        console.print()
        console.print(ProfileView(profile))
    if not details:
        command = f"scaling explain {shlex.quote(str(results))} --details"
        omitted = f"; {plural(left, 'cell')} left out" if left else ""
        say(console, f"Every term of every cell{omitted}: {command}")


def _is_aside(each: Attribution) -> bool:
    """Whether a cell is a control, or has more workers than there are CPUs: most of its loss is
    their waiting.
    """
    return each.is_oversubscribed or each.runs.section.is_control


def show_profile(
    results: Path, profile: Profile, console: Console, *, json_to: Console | None = None
) -> None:
    """Print a profile just made; to `json_to` the whole study with it.

    Raises:
        UsageError: there is no journal that could be read.
    """
    if json_to is None:
        console.print(ProfileView(profile))
    else:
        say(json_to, explained_json(StudyResults.of(read(results, console))))


def _require_readings(study: StudyResults) -> None:
    """Raise where no cell has figures, saying what to measure."""
    if any(each.whole is not None for each in study.attributions):
        return
    workers = set(study.frame["workers"])
    if not workers - {1}:
        raise UsageError(
            "explain: every run of this study is at N = 1, so nothing is lost; measure more "
            "workers, too: scaling run … --workers 1,2"
        )
    if 1 not in workers:
        raise UsageError(
            "explain: no run of this study is at N = 1, which each N is compared with; measure it, "
            "too: scaling run … --workers 1,"
            f"{','.join(str(n) for n in sorted(workers))}"
        )
    if not study.attributions:
        raise UsageError(
            "explain: this journal has no readings of where the time goes: they come from "
            "/proc/…/schedstat. Measure the study again, on Linux"
        )
    raise UsageError(f"explain: {study.attributions[0].name}: {study.attributions[0].why}")
