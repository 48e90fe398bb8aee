"""The figures of a study as rows for other programs, and as Markdown for people's texts."""

from collections.abc import Mapping

import pandas as pd

from scaling.analysis.curves import Point
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults, incomplete
from scaling.analysis.soundness import build_differences_of
from scaling.journal.record import Cell, Parameters, StudyLine
from scaling.report.tables.grid import chapters_markdown, pipe_table, unbroken
from scaling.report.tables.measures import estimate_columns, measures, study_columns
from scaling.report.tables.notes import study_notes
from scaling.report.tables.overview import figure_chapters

# ---------------------------------------------------------------------------------- comparison rows
# The comparison as rows for other programs: one ratio a row, with what it is of and over.


def comparison_rows(results: StudyResults) -> pd.DataFrame:
    """All ratios of a study.

    Columns: what it is about (study, workload, parameters, sizing); `question` (gain, headline,
    step, over processes, break-even, version, setting, loop, runtime) and `measure` (of a step what
    changes in it, else throughput, cpu_s_per_op, memory; in an open loop latency_p99_s in the place
    of throughput, and `capacity at p99<20ms` for each objective, whose `parameters` have no rate);
    the configuration it is of (`loop`, `arm`, `model`, `workers`, its `runs`, how many are
    `suspect`, how many more `left_out`, `allocator_state`) and the one it is over (`over_loop`,
    `over_arm` …); the `ratio` (`estimate_columns`); its `verdict` (of CPU time and memory `more`
    and `less`), `why` it is inconclusive, its `margin`, its `family` (primary or exploratory) and
    `p_differs` and `p_same`, corrected for all hypotheses of that family in the study
    (`scaling.analysis.statistics.verdict`); `in_turn`, whether its two cells were measured in turn,
    and `why_not_in_turn`; `memory_kind` of a ratio of memory; `builds_differ`, in what the two
    arms' builds differ and should not (of a runtime nothing: it is meant to differ in everything);
    `controls`, what the study's controls say, and its `scale`.
    """
    about = study_columns(results)
    points: dict[Cell, Point | int] = {**results.points}
    for each in results.capacities:
        points.setdefault(each.cell, len(each.series.known.values))
    return pd.DataFrame([_row(each, points, results.study) | about for each in results.ratios])


def _row(ratio: Ratio, points: Mapping[Cell, Point | int], study: StudyLine) -> dict[str, object]:
    of, over = ratio.of, ratio.over
    return {
        "study": study.name,
        "workload": of.workload,
        "parameters": Parameters.of(of.parameters).text,
        "sizing": of.sizing,
        "loop": of.loop,
        "question": ratio.question,
        "measure": ratio.figure,
        **_cell(of, points),
        "over_loop": over.loop,
        **{f"over_{name}": value for name, value in _cell(over, points).items()},
        **estimate_columns("ratio", ratio),
        "verdict": ratio.verdict.word,
        "why": ratio.verdict.why,
        "family": ratio.verdict.family,
        "margin": ratio.verdict.margin,
        "p_differs": ratio.verdict.p_differs,
        "p_same": ratio.verdict.p_same,
        "in_turn": not ratio.why_apart,
        "why_not_in_turn": ratio.why_apart or None,
        "memory_kind": ratio.memory_kind or None,
        "builds_differ": ", ".join(
            each.fact for each in build_differences_of(study, (of.arm, over.arm))
        ),
    }


def _cell(cell: Cell, points: Mapping[Cell, Point | int]) -> dict[str, object]:
    columns: dict[str, object] = {
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
    }
    point = points.get(cell)
    if isinstance(point, int):  # a capacity: how many blocks have one
        return columns | {"runs": point}
    for name in ("runs", "suspect", "left_out", "allocator_state"):
        columns[name] = getattr(point, name)
    return columns


# ------------------------------------------------------------------------------------------- export

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
                    row |= estimate_columns(measure.shown.name, measure.of(point))
                rows.append(row | estimate_columns(SLOPE, curve.slope))
    return pd.DataFrame(rows)


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
