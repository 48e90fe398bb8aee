"""Two studies compared, as chapters of words and tables."""

from itertools import groupby

from scaling.analysis.comparison.between_studies import Across, Change
from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.report.tables.across_sentences import changed, doubted
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.margins import margins_across
from scaling.report.tables.measures import SUSPECT, curve_name


def across_chapters(found: Across, then: str, now: str) -> list[Chapter]:
    """Two studies side by side: a table for each section; `then` and `now` name them."""

    def title(change: Change) -> str:
        return change.section.title

    studies = ((then, StudyResults(*found.then)), (now, StudyResults(*found.now)))
    words = [f"{name}: {each}" for name, study in studies for each in warnings_of(study)]
    words += changed(found)
    words += [each for name, study in studies for each in doubted(name, study.run_issues)]
    opening = Chapter(f"{now} over {then}", words)
    lines = []
    for heading, group in groupby(found.changes, title):
        members = list(group)
        rows: list[list[Cell]] = [[_curve(c), str(c.workers), *_figures(c)] for c in members]
        is_rate = members[0].measure == "throughput"
        unit = f"{members[0].section.operation}/s" if is_rate else "P99 ms"
        headings = ["curve", "N", f"{unit} then", "now", "ratio", "memory"]
        grid = Grid("", headings, rows, 2, _across_note(members))
        lines.append(Chapter(heading, margins_across(members), [grid]))
    return [opening, *lines]


def _across_note(changes: list[Change]) -> str:
    """What the marks and blanks of a table across studies mean."""
    lines = ["Runs: earlier study, later study."]
    if any(point.suspect for c in changes for point in (c.then, c.now)):
        lines.append(f"{SUSPECT} some of them are suspect: see above.")
    if any(c.measure == "latency_p99_s" and not c.ratio.n for c in changes):
        lines.append(
            f"{formats.BLANK} no ratio: too few requests for P99, or a server fell behind or "
            "declined requests, and its P99 is a lower bound."
        )
    if any(len(set(c.memory_kinds)) > 1 for c in changes):
        lines.append("Memory is blank where one study has PSS and the other RSS.")
    return " ".join(lines)


def _curve(change: Change) -> str:
    """Loop, arm and model, and `8, 8? runs`: how many then and now, of the latter some suspect."""
    counts = (f"{p.runs}{SUSPECT if p.suspect else ''}" for p in (change.then, change.now))
    return f"{curve_name(change.curve)} · {', '.join(counts)} runs".replace(" · ", "\n")


def _figures(change: Change) -> list[Cell]:
    ratio: Cell = change.ratio if change.ratio.n else formats.BLANK
    return [*change.values, ratio, change.memory]
