"""What cells lose against N = 1, as tables: term by term for one, a row each for several."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from scaling.analysis.attribution.cells import Attribution, Loss
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.loss_sentences import (
    LEGEND,
    ONE_TERM,
    Unit,
    sentences,
    unit_for,
    unit_of,
    words_of,
)

TITLE = "What is lost"
SMALLEST_SHOWN = 0.01  # of all time: CPU time of other threads


def terms_grid(each: Attribution) -> Grid:
    """A row for each term of a cell, and their sum: at N = 1, at N, the loss, and the factor."""
    assert each.whole is not None
    unit = unit_for(each)
    rows = [_row(words_of(loss.term, each), loss, unit) for loss in each.losses if loss.at_n.n]
    rows.append(_row("all", each.whole, unit))
    notes = [f"In {unit.name} per operation, means with {bounds_kind([each.whole.loss])}."]
    if each.blocks == 1:
        notes = [f"In {unit.name} per operation, of a single block."]
    others = each.other_threads
    if others and others.at_n.point > SMALLEST_SHOWN * each.whole.at_n.point:
        rows.append(_row("other threads", others, unit))
        notes.append("Other threads run no loop; their CPU time is in no sum.")
    headings = [f"{unit.name} per operation", "N = 1", f"N = {each.workers}", "loss", "factor"]
    return Grid("", headings, rows, note=" ".join(notes))


def _row(words: str, loss: Loss, unit: Unit) -> list[Cell]:
    in_unit = [
        "\n".join(filter(None, (unit.number(each), unit.bounds(each))))
        for each in (loss.at_one, loss.at_n, loss.loss)
    ]
    return [words, *in_unit, _known(loss.factor)]


def _known(value: Estimate) -> Cell:
    return value if value.n else formats.BLANK


def losses_grid(some: Iterable[Attribution], title: str = TITLE) -> list[Grid]:
    """A row for each cell of one section and loop, and a column for each term that any lost in."""
    known = [each for each in some if each.whole is not None]
    if not known:
        return []
    longest_s = max(max(e.whole.at_one.point, e.whole.at_n.point) for e in known if e.whole)
    unit = unit_of(longest_s)
    headings = ["cell", "efficiency", f"N = 1, {unit.name}", "loss"]
    terms = [loss.term.words for loss in known[0].losses]
    rows = [_cell_row(each, unit) for each in known]
    kind = bounds_kind(each.whole.loss for each in known if each.whole)
    notes = [f"In {unit.name} per operation, means with {kind or 'no interval'}."]
    notes.append("Largest: of a cell that misses its ideal by more than the noise.")
    if any(each.one_term for each in known):
        notes.append(ONE_TERM)
    return [Grid(title, [*headings, *terms, "largest"], rows, words=1, note="\n".join(notes))]


def _cell_row(each: Attribution, unit: Unit) -> list[Cell]:
    assert each.whole is not None
    largest = words_of(each.largest.term, each) if each.largest else formats.BLANK
    shown = [each.whole.at_one, each.whole.loss, *(loss.loss for loss in each.losses)]
    figures = [_known(value.scaled(unit.per_s, unit.name)) for value in shown]
    where = f"{each.of.arm} · {each.of.model} · N = {each.workers}"
    return [where, _known(each.whole.factor), *figures, largest]


def loss_chapters(results: StudyResults) -> list[Chapter]:
    """A chapter for each section and loop: a sentence or more for each cell that misses its ideal,
    and the table; none of a study without readings.
    """
    chapters = []
    for title, group in groupby(results.attributions, lambda each: each.runs.title):
        members = list(group)
        words = [*told(members), LEGEND]
        chapters.append(Chapter(f"{TITLE}: {title}", words, losses_grid(members, "")))
    return [each for each in chapters if each.grids]


def told(some: Sequence[Attribution]) -> list[str]:
    """The sentences of the cells that miss their ideal, each cell's as one."""
    return [" ".join(sentences(each)) for each in some if each.misses]
