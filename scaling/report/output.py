"""The answer of a study in the terminal: of `show`, and at the end of a run."""

import json
import shlex
from pathlib import Path

from rich.console import Console

from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import ScalingError
from scaling.base.formats import listed, plural
from scaling.report.files import PLOTS, REPORT, TABLES, read, say_incomplete, write_all
from scaling.report.render import terminal
from scaling.report.render.document import Document
from scaling.report.render.terminal import LINES, table
from scaling.report.view.next_step import next_command
from scaling.report.view.notes import reasons_text
from scaling.report.view.view import view_of


def show(
    results: Path, console: Console, *, details: bool = False, json_to: Console | None = None
) -> None:
    """Print the answer of the study in `results`; with `details` all its tables after it.

    With `json_to` the answer is printed there as JSON instead. Nothing is written.

    Raises:
        UsageError: there is no journal that could be read.
    """
    study = read(results, console)
    if json_to is not None:
        say(json_to, answer_json(study))
        return
    if not details:
        print_answer(study, console, LINES - 1)
        say(console, f"More: scaling show {shlex.quote(str(results))} --details")
        return
    print_answer(study, console, most=None)
    for grid in view_of(study).more(study, wide=False):
        console.print(table(grid, console))
        console.print()
    say_incomplete(study, console)


def print_answer(study: Study, console: Console, most: int | None = LINES) -> None:
    """Print the answer in at most `most` lines, with brief notes; None: all of it."""
    view, is_brief = view_of(study), most is not None
    found = Document(
        study.line.name,
        view.sentence(study),
        answer=view.answers(study),
        notes=view.said(study, brief=is_brief),
    )
    terminal.print_answer(found, console, most)


def answer_json(study: Study) -> str:
    """The answer as JSON: the rows that the terminal and the page show."""
    return json.dumps(view_of(study).record(study), ensure_ascii=False, indent=2)


# ------------------------------------------------------------------------------- the end of a run


def finish(folder: Path, console: Console, *, json_to: Console | None = None) -> Study:
    """End a run: write tables, plots and page beside the journal in `folder`, print the answer.

    With `json_to` the answer is printed there as JSON. Returns the study.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written, or no run of a workload is valid.
    """
    study = read(folder, console)
    write_all(study, folder)
    if json_to is None:
        answered(study, folder, console)
    else:
        say(json_to, answer_json(study))
    if without := without_figure(study):
        raise ScalingError(f"{without}; the reasons are in {folder / TABLES}")
    return study


def answered(study: Study, folder: Path, console: Console) -> None:
    """Print the answer, the path of the page, and commands. Paths and commands are never cut."""
    where = {
        "page": str(folder / REPORT),
        "tables": f"scaling show {shlex.quote(str(folder))} --details",
        "next": next_command(study, folder),
    }
    print_answer(study, console, LINES - len(where))
    for name, text in where.items():
        say(console, f"{name + ':':<8}{text}")


def without_figure(study: Study) -> str:
    """The workloads without a valid run, with a reason; empty where each has one."""
    runs = study.runs
    valid = set(runs.loc[runs["valid"], "workload"])
    none = [name for name in runs["workload"].unique() if name not in valid]
    if not none:
        return ""
    first = runs[runs["workload"] == none[0]].iloc[0]
    why = f"({reasons_text(first['reasons'])}: {first['details'][0]})"
    if not valid:
        return f"none of the {plural(len(runs), 'run')} is valid, so there is no figure {why}"
    return f"no run of {listed(none)} is valid, so there is no figure of it {why}"


def write_again(results: Path, output: Path | None, console: Console) -> None:
    """Write every derived file of a study anew into `output`, by default beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written.
    """
    study = read(results, console)
    assert study.path is not None
    folder = output or study.path.parent
    files = write_all(study, folder)
    names = [file.name for file in files if file.parent == folder]
    pictures = sum(file.suffix == ".svg" and file.parent.name == PLOTS for file in files)
    made = ", ".join([*names, f"{plural(pictures, 'plot')} as SVG and PNG"])
    say(console, f"journal: {study.path}\nmade from it: {made}, in {folder}")
