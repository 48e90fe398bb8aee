"""A study as a document: what its view shows, for a page and for Markdown."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scaling.analysis.tables.study import Study
from scaling.base.formats import plural
from scaling.report.environment import command, study_file
from scaling.report.render.document import Document
from scaling.report.view.notes import machine_text
from scaling.report.view.view import view_of

if TYPE_CHECKING:
    from scaling.report.render.svg import Drawing

PAGE = "report.html"
COLUMNS = 6  # of figures in a table: more are not read on a laptop, and not printed


def document(study: Study, drawn: "Sequence[Drawing]" = (), plots: str = "") -> Document:
    """All tables and sentences of a study, and its plots: inside the page, or in the folder `plots`
    beside it. The same study gives the same document.
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
        drawings=_ranked(study, drawn),
        plots=plots,
        answer=view.answers(study),
        notes=view.said(study),
        details=[part for grid in view.more(study, wide=True) for part in grid.parts(COLUMNS)],
        codes={"How to measure it again": again} if asked else {},
    )


def _about(study: Study) -> Iterator[str]:
    line, runs = study.line, study.runs
    made = "Simulated" if line.simulated else "Measured"
    day = f" on {line.started_at[:10]}" if line.started_at else ""
    blocks = plural(int(runs["block"].nunique()), "block")
    version = f" with scaling {line.scaling}" if line.scaling else ""
    yield f"{made}{day}{version}: {plural(len(runs), 'run')} in {blocks}, in random order."
    yield machine_text(line.machine)


def _ranked(study: Study, every: "Sequence[Drawing]") -> "list[Drawing]":
    """The plot of the answer first: curves of three Ns or more, else ratios with their words."""
    is_curve = study.runs["workers"].nunique() > 2
    first = ("throughput",) if is_curve else ("over-processes", "p99-over-processes", "gains")
    return sorted(every, key=lambda each: not each.name.startswith(first))
