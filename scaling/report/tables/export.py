"""The figures of a study as rows for other programs, and as Markdown for people's texts."""

from pathlib import Path

import pandas as pd

from scaling.analysis.lookup.extent import incomplete
from scaling.analysis.results import StudyResults
from scaling.report.tables.columns import estimate_columns, study_columns, write_rows
from scaling.report.tables.figures import figure_chapters
from scaling.report.tables.markdown import chapters_markdown, pipe_table, unbroken
from scaling.report.tables.measures import measures
from scaling.report.tables.study_notes import study_notes

SLOPE = "mib_per_extra_worker"


def summary(results: StudyResults) -> pd.DataFrame:
    """One row per cell: what it is, how many runs, and each figure (`estimate_columns`).

    Units are in the names. Figures that begin with `own_` are the workload's own.
    """
    about = study_columns(results)
    rows = []
    for section in results.sections:
        shown = measures(section)
        for curve in section.curves:
            for point in curve.points:
                row: dict[str, object] = {
                    **curve.names,
                    "workers": point.workers,
                    "region": point.region,
                    "operation": section.operation,
                    "runs": point.runs,
                    "suspect": point.suspect,
                    "again": point.again,
                    "left_out": point.left_out,
                    "allocator_state": point.allocator_state,
                    "memory_kind": curve.memory_kind,
                    **about,
                }
                for measure in shown:
                    row |= estimate_columns(measure.column, measure.of(point))
                rows.append(row | estimate_columns(SLOPE, curve.slope))
    return pd.DataFrame(rows)


def write_csv(results: StudyResults, path: Path) -> Path:
    """Write `summary` as CSV. Raises `OSError` as any writing does."""
    return write_rows(summary(results), path)


def markdown(results: StudyResults, comparison: str = "") -> str:
    """All tables as Markdown, the runs that were left out or marked at the end.

    A `comparison` stands before the tables, below what the controls say.
    """
    lacks = incomplete(results.frame, results.study, results.notes)
    warnings = (lacks, results.soundness.text, *results.caveats)
    parts = [f"**{unbroken(each)}**" for each in warnings if each]
    parts += study_notes(results.frame, results.drift)
    parts += [comparison] if comparison else []
    parts += [chapters_markdown([*figure_chapters(results)])]
    found = results.run_issues
    if found:
        rows = [
            [each.validity, str(each.runs), each.cell, each.reasons, unbroken(each.detail)]
            for each in found
        ]
        parts.append("### Suspect and invalid runs")
        parts.append(pipe_table(["", "runs", "cell", "reasons", "first detail"], rows, {1}))
        parts.append("Invalid runs are excluded from every figure.")
    parts += [f"**{lacks}**"] if lacks else []
    return "\n\n".join(parts) + "\n"
