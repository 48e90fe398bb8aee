"""What `scaling explain --profile` does: a cell is chosen, sampled in new runs, written."""

from collections.abc import Sequence
from pathlib import Path

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.study_options import folder
from scaling.journal.beside import Profile, write_profile


def profile_cell(
    results: Path,
    cell: str | None,
    pairs: int,
    *,
    paths: Sequence[Path] = (),
    requirements: Sequence[str] = (),
) -> Profile:
    """Profile a cell of a study, and write it beside the journal.

    Raises:
        UsageError: there is no such study or cell, or the study cannot be run here.
        ScalingError: nothing can be sampled, or the file cannot be written.
    """
    from scaling.analysis.function_gains import FEWEST_PAIRS
    from scaling.journal.reading import read_lines
    from scaling.journal.record import CeilingLine
    from scaling.run.measure import prepared
    from scaling.run.prepare import ChildNeeds
    from scaling.run.profile.choice import choose
    from scaling.run.profile.profiling import profiled
    from scaling.run.progress import display
    from scaling.run.remaining_work import read_runs
    from scaling.study.options import Options

    if pairs < FEWEST_PAIRS:
        raise UsageError(f"--pairs {pairs}: an interval takes {FEWEST_PAIRS} or more")
    folders = [str(folder(path)) for path in paths]
    errors = new_console(stderr=True)

    def note(text: str) -> None:
        say(errors, text)

    measured = read_runs(results, note)
    chosen = choose(measured.head, measured.runs, cell)
    note(f"profiling {chosen.text}: N = 1 against N = {chosen.several.workers}")
    ceilings = [
        line for line in read_lines(measured.path, lambda _: None) if isinstance(line, CeilingLine)
    ]
    wanted = ChildNeeds(paths=folders, requirements=tuple(requirements))
    options = Options(arm=[chosen.several.arm])
    with prepared(options, wanted, note, measured.load_file) as ready:
        profile = profiled(ready, measured.head, ceilings, chosen, pairs, display(errors))
    write_profile(measured.path.parent, profile)
    return profile
