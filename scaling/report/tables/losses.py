"""What cells lose against N = 1, as tables: term by term for one, a row each for several."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from scaling.analysis.attribution.cells import Attribution, Loss
from scaling.analysis.attribution.terms import TERMS, Term
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
ON_CPU, OFF_CPU = TERMS[:3], TERMS[3:]
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


def losses_grids(some: Iterable[Attribution]) -> list[Grid]:
    """Two tables with a row for each cell of one section and loop: what is lost on CPU, and off it.

    One table would be wider than a page.
    """
    known = [(each, each.whole) for each in some if each.whole is not None]
    if not known:
        return []
    unit = unit_of(max(max(whole.at_one.point, whole.at_n.point) for _, whole in known))
    kind = bounds_kind(whole.loss for _, whole in known)
    note = f"In {unit.name} per operation, means with {kind or 'no interval'}."
    largest = "Largest: of a cell that misses its ideal by more than the noise."
    notes = [note, largest, *([ONE_TERM] if any(each.one_term for each, _ in known) else [])]

    def cells(each: Attribution, terms: Iterable[Term]) -> list[Cell]:
        return [
            _known(loss.loss.scaled(unit.per_s, unit.name))
            for loss in each.losses
            if loss.term in terms
        ]

    on, off = [], []
    for each, whole in known:
        totals = (value.scaled(unit.per_s, unit.name) for value in (whole.at_one, whole.loss))
        of_whole = [_known(whole.factor), *map(_known, totals)]
        name = f"{each.of.arm} · {each.of.model} · N = {each.workers}"
        on.append([name, *of_whole, *cells(each, ON_CPU)])
        first = words_of(each.largest.term, each) if each.largest else formats.BLANK
        off.append([name, *cells(each, OFF_CPU), first])
    lost = ["cell", "efficiency", f"N = 1, {unit.name}", "loss"]
    return [
        Grid("Lost on CPU", [*lost, *(term.words for term in ON_CPU)], on, note=note),
        Grid(
            "Lost off the CPU",
            ["cell", *(term.words for term in OFF_CPU), "largest"],
            off,
            note="\n".join(notes),
        ),
    ]


def loss_chapters(results: StudyResults) -> list[Chapter]:
    """A chapter for each section and loop: a sentence or more for each cell that misses its ideal,
    and the table; none of a study without readings.
    """
    chapters = []
    for title, group in groupby(results.attributions, lambda each: each.runs.title):
        members = list(group)
        words = [*told(members), LEGEND]
        chapters.append(Chapter(f"{TITLE}: {title}", words, losses_grids(members)))
    return [each for each in chapters if each.grids]


def told(some: Sequence[Attribution]) -> list[str]:
    """The sentences of the cells that miss their ideal, each cell's as one."""
    return [" ".join(sentences(each)) for each in some if each.misses]
