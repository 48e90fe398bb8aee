"""What commands print of a study, and the files that they make from its journal."""

import shlex
from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import ScalingError
from scaling.report.files import PLOTS, TABLES, read, write_derived


def finish(
    folder: Path,
    console: Console,
    *,
    memory_bytes: float | None = None,
    json_to: Console | None = None,
) -> None:
    """End a run: write tables, plots and page beside the journal in `folder`, print the answer.

    That of an application says how many workers fit into `memory_bytes`, and is printed as JSON
    with `json_to`.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written, or no run of a workload is valid.
    """
    results = StudyResults.of(read(folder, console))
    answered(results, folder, console, memory_bytes=memory_bytes, json_to=json_to)
    if without := without_figure(results):
        raise ScalingError(f"{without}; the reasons are in {folder / TABLES}")


def answered(
    results: StudyResults,
    folder: Path,
    console: Console,
    *,
    memory_bytes: float | None = None,
    json_to: Console | None = None,
) -> None:
    """Do the same of results whether there are figures or not.

    Raises `ScalingError` where something cannot be written.
    """
    from scaling.report.application import application_json

    _write_all(results, folder)
    if json_to is None or not results.is_of_application:
        print_answer(results, folder, console, memory_bytes)
    else:
        say(json_to, application_json(results))


def print_answer(
    results: StudyResults, folder: Path, console: Console, memory_bytes: float | None = None
) -> None:
    """Print the answer; `folder` has the study's files.

    That of an application says how many workers fit into `memory_bytes`, if that is stated. Paths
    and commands are there to be copied: they are printed whole, however long.
    """
    from scaling.report.page.render import FILE_NAME
    from scaling.report.terminal import answer, app_answer
    from scaling.report.terminal.show import print_lines

    of = app_answer if results.is_of_application else answer
    where = {
        "page": str(folder / FILE_NAME),
        "tables": f"scaling show {shlex.quote(str(folder))} --details",
        "next": of.next_command(results, folder),
    }
    print_lines(results, console, answer.LINES - len(where), memory_bytes)
    for name, text in where.items():
        say(console, f"{name + ':':<8}{text}")


def without_figure(results: StudyResults) -> str:
    """That no run of a workload is valid, and why the first is not; empty where each has one."""
    frame = results.frame
    valid = set(frame.loc[frame["valid"], "workload"])
    none = [name for name in frame["workload"].unique() if name not in valid]
    if not none:
        return ""
    first = next(each for each in results.run_issues if each.cell.startswith(none[0]))
    why = f"({first.reasons}: {first.detail})"
    if not valid:
        runs = formats.plural(len(frame), "run")
        return f"none of the {runs} is valid, so there is no figure {why}"
    return f"no run of {formats.listed(none)} is valid, so there is no figure of it {why}"


def write_again(results: Path, output: Path | None, console: Console) -> None:
    """Write page, plots and tables of a study into `output`, by default beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written.
    """
    journal = read(results, console)
    folder = output or journal.path.parent
    files = _write_all(StudyResults.of(journal), folder)
    names = [file.name for file in files if file.parent == folder]
    pictures = sum(file.suffix == ".svg" for file in files)
    made = ", ".join([*names, f"{formats.plural(pictures, 'plot')} as SVG and PNG"])
    say(console, f"journal: {journal.path}\nmade from it: {made}, in {folder}")


def _write_all(results: StudyResults, folder: Path) -> list[Path]:
    """Write page, plots and tables; return the files. Raises `ScalingError`."""
    from scaling.report.page.parts import Pictures
    from scaling.report.page.render import FILE_NAME, write_page

    files = write_derived(results, folder)
    write_page(results, folder / FILE_NAME, Pictures(folder / PLOTS))
    return [folder / FILE_NAME, *files]
