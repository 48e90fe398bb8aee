"""Output of commands: the answer of a study, and the files made from its journal."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import ScalingError
from scaling.base.formats import listed, plural
from scaling.journal.protected_write import write_text
from scaling.report.files import AGAIN, PLOTS, TABLES, read, write_csv, write_plots
from scaling.report.page import PAGE, document
from scaling.report.render.document import html, markdown
from scaling.report.render.terminal import LINES
from scaling.report.show import answer_json, print_answer
from scaling.report.view.next_step import next_command
from scaling.report.view.notes import reasons_text


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


def write_all(
    study: Study,
    folder: Path,
    page_name: str = PAGE,
    formats: Sequence[str] = ("svg", "png"),
    plots: str = "",
) -> list[Path]:
    """Write every derived file of a study into `folder`; return these files.

    The page has the plots in it, or names them as files of the folder `plots`.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.view.plots import drawings  # with Matplotlib: an answer does without

    drawn = list(drawings(study))
    found = document(study, drawn, plots)
    write_text(folder / TABLES, markdown(found), AGAIN)
    files = [*write_csv(study, folder), *write_plots(drawn, folder / PLOTS, formats)]
    write_text(folder / page_name, html(found), AGAIN)
    return [folder / TABLES, *files, folder / page_name]


def answered(study: Study, folder: Path, console: Console) -> None:
    """Print the answer, and where more is. Paths and commands are printed whole, to be copied."""
    where = {
        "page": str(folder / PAGE),
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
