"""The files of a study: the journal is read, and all others are made from it.

Only the journal must be kept: `scaling report` makes the others again, also after figures are
computed differently.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.formats import plural
from scaling.journal.protected_write import try_writing, write_file, write_text
from scaling.report import csv
from scaling.report.descriptions import command, study_file
from scaling.report.render.document import Document, html, markdown
from scaling.report.view.notes import machine_text
from scaling.report.view.view import view_of

if TYPE_CHECKING:
    from scaling.report.render.svg import Drawing

TABLES, SUMMARY, COMPARISON, LOSSES = "tables.md", "summary.csv", "comparison.csv", "losses.csv"
REPORT, PLOTS = "report.html", "plots"
AGAIN = "scaling report"
COLUMNS = 6  # of figures in a table: more are not read on a laptop, and not printed


def read(results: Path, console: Console) -> Study:
    """Read a study; print what was skipped in its journal, and whether the study is incomplete.

    Raises:
        UsageError: no journal is there, an empty one, one without runs, or one of a newer version.
    """
    study = Study.of(read_journal(results))
    for note in study.skipped:
        say(console, note)
    say_incomplete(study, console)
    return study


def say_incomplete(study: Study, console: Console) -> None:
    """Print what of the study is missing; nothing where all is there.

    Every output begins with this line. Long output ends with it, too.
    """
    if text := study.incomplete:
        say(console, f"{text} in {study.path}")


def write_all(
    study: Study,
    folder: Path,
    page_name: str = REPORT,
    formats: Sequence[str] = ("svg", "png"),
    plots: str = "",
) -> list[Path]:
    """Write every derived file of a study into `folder`; return these files.

    The page contains the plots, or refers to their files in the folder `plots`.

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


def write_csv(study: Study, folder: Path) -> list[Path]:
    """Write the CSV files into `folder`, which is made; return these files.

    `comparison.csv` and `losses.csv` are written if they have rows.

    Raises:
        ScalingError: something cannot be written.
    """
    tables = {SUMMARY: csv.summary, COMPARISON: csv.comparison, LOSSES: csv.losses}
    made = {folder / name: rows for name, of in tables.items() if len(rows := of(study))}
    for file, rows in made.items():
        write_file(file, partial(csv.write, rows), AGAIN)
    return list(made)


def write_plots(drawn: "Iterable[Drawing]", folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write plots in these formats into `folder`, which is made; return these files.

    Raises:
        ScalingError: something cannot be written.
    """
    files = {folder / f"{each.name}.{kind}": each for each in drawn for kind in formats}

    def write() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for file, drawing in files.items():
            drawing.write(file)

    try_writing(folder, write, AGAIN)
    return list(files)


# ------------------------------------------------------------------------------- page and Markdown


def document(study: Study, drawn: "Sequence[Drawing]" = (), plots: str = "") -> Document:
    """All tables and sentences of a study, for its page and its Markdown.

    The plots `drawn` are inside the page, or in the folder `plots` beside it. The same study gives
    the same document.
    """
    view, status, asked = view_of(study), study.soundness, study_file(study.line)
    warnings = [status.text] if status.status in ("void", "undecided") else []
    warnings += [study.incomplete] if study.incomplete else []
    again = f"# {command(study.line)}\n\n{asked}"
    return Document(
        title=study.line.name,
        sentence=view.sentence(study),
        about=list(_about(study)),
        warnings=warnings,
        drawings=_answer_first(study, drawn),
        plots=plots,
        answer=view.answers(study),
        notes=view.said(study),
        details=[part for grid in view.more(study, wide=True) for part in grid.parts(COLUMNS)],
        codes={"How to measure it again": again} if asked else {},
    )


def _about(study: Study) -> Iterator[str]:
    """Date, version, runs and machine of a study."""
    line, runs = study.line, study.runs
    made = "Simulated" if line.simulated else "Measured"
    day = f" on {line.started_at[:10]}" if line.started_at else ""
    blocks = plural(int(runs["block"].nunique()), "block")
    version = f" with scaling {line.scaling}" if line.scaling else ""
    yield f"{made}{day}{version}: {plural(len(runs), 'run')} in {blocks}, in random order."
    yield machine_text(line.machine)


def _answer_first(study: Study, every: "Sequence[Drawing]") -> "list[Drawing]":
    """The plots, that of the answer first: curves of three Ns or more, else ratios."""
    is_curve = study.runs["workers"].nunique() > 2
    first = ("throughput",) if is_curve else ("over-processes", "p99-over-processes", "gains")
    return sorted(every, key=lambda each: not each.name.startswith(first))
