"""The figures of a study as rows for other programs, and as Markdown for people's texts."""

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from scaling import wording
from scaling.analysis.controls import soundness
from scaling.analysis.estimate import Estimate
from scaling.analysis.sections import Section, blemishes, sections
from scaling.analysis.sweeps import sweeps
from scaling.journal.record import StudyLine
from scaling.study.scaled import scaled_to
from scaling.tables.laws_view import law_lines
from scaling.tables.measures import MARKS, SUSPECT, curve_name, measures, notes
from scaling.tables.study_notes import study_notes
from scaling.tables.sweep_view import sweep_markdown

SLOPE = "mib_per_extra_worker"


def summary(frame: pd.DataFrame, study: StudyLine) -> pd.DataFrame:
    """One row per cell: what it is, how many runs, and each figure with its bounds.

    A figure takes six columns: its name for the median, then the name with `_low`, `_high`, `_n`
    (values it rests on), `_method` (how the bounds were made) and `_spread` (how far single values
    lie apart: `scaling.analysis.estimate.Estimate`). Units are in the names. Figures that begin
    with `own_` are the workload's own.
    """
    rows = []
    controls = soundness(frame, study).status
    for section in sections(frame, study):
        for curve in section.curves:
            for point in curve.points:
                row: dict[str, object] = {
                    **asdict(curve.key),
                    "workers": point.workers,
                    "region": point.region,
                    "operation": section.operation,
                    "runs": point.runs,
                    "suspect": point.suspect,
                    "again": point.again,
                    "left_out": point.left_out,
                    "allocator_state": point.allocator_state,
                    "memory_kind": curve.memory_kind,
                    "controls": controls,
                    "scale": study.study.get("scale", 1.0),
                }
                for measure in measures(section):
                    row |= _columns(measure.column, measure.of(point))
                rows.append(row | _columns(SLOPE, curve.slope))
    return pd.DataFrame(rows)


def _columns(name: str, value: Estimate) -> dict[str, object]:
    return {
        name: value.point,
        f"{name}_low": value.low,
        f"{name}_high": value.high,
        f"{name}_n": value.n,
        f"{name}_method": value.method,
        f"{name}_spread": value.spread,
    }


def write_csv(frame: pd.DataFrame, study: StudyLine, path: Path) -> Path:
    """Write `summary` as CSV. Raises `OSError` as any writing does."""
    return write_rows(summary(frame, study), path)


def write_rows(rows: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV, with more digits than count. Raises `OSError`."""
    rows.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return path


def markdown(frame: pd.DataFrame, study: StudyLine, comparison: str = "") -> str:
    """All tables as Markdown, the runs that were left out or marked at the end.

    A `comparison` stands before the tables, below what the controls say.
    """
    warning = soundness(frame, study).text
    parts = [f"**{_safe(each)}**" for each in (warning, scaled_to(study.study)) if each]
    parts += study_notes(frame)
    parts += [comparison] if comparison else []
    told = sections(frame, study)
    parts += [_section(section) for section in told]
    parts += [sweep_markdown(sweep) for sweep in sweeps(told, study)]
    found = blemishes(frame)
    if found:
        lines = ["### Runs that are not simply valid", ""]
        lines += ["| | runs | cell | reasons | first detail |", "| --- | ---: | --- | --- | --- |"]
        lines += [
            _line([each.validity, str(each.runs), each.cell, each.reasons, _safe(each.detail)])
            for each in found
        ]
        lines += ["", "Invalid runs are in no figure."]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    shown = measures(section)
    headings = ["curve", "N", "runs", *(_safe(measure.heading) for measure in shown)]
    lines = [f"### {section.title}", ""]
    lines += [_line(headings), _line(["---", *["---:"] * (len(headings) - 1)])]
    for curve in section.curves:
        for point in curve.points:
            marked = f"{point.workers}{MARKS.get(point.region or '', '')}".replace("*", r"\*")
            runs = f"{point.runs}{SUSPECT if point.suspect else ''}"
            figures = [wording.estimate(measure.of(point)) for measure in shown]
            lines.append(_line([curve_name(curve), marked, runs, *figures]))
    slopes = [
        f"- {curve_name(curve)}: {wording.estimate(curve.slope)} MiB {curve.memory_kind} "
        "per extra worker"
        for curve in section.curves
        if curve.slope.n
    ]
    told = " ".join(notes(section)).replace("*", r"\*")
    bullets = [*slopes, *(f"- {line}" for line in law_lines(section))]
    return "\n".join([*lines, "", *bullets, "", told] if bullets else [*lines, "", told])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text from outside, kept from breaking the table it stands in."""
    return text.replace("|", r"\|").replace("\n", " ")
