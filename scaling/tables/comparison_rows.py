"""The comparison as rows for other programs: one ratio a row, with what it is of and over."""

from collections.abc import Iterator

import pandas as pd

from scaling.analysis.comparison import Compared, compare_ways
from scaling.analysis.estimate import Estimate
from scaling.analysis.paired import Way
from scaling.journal.record import StudyLine

type Row = tuple[str, str, Way, Way, Estimate]


def comparison_rows(frame: pd.DataFrame, study: StudyLine) -> pd.DataFrame:
    """All ratios of a study's comparison.

    Columns: what it is about (study, workload, parameters, sizing, loop); `question` (headline,
    step, over processes, break-even) and `measure` (of a step what changes in it, else throughput,
    cpu_s_per_op, memory); the way it is of (`arm`, `model`, `workers`) and the way it is over
    (`over_arm` …); `ratio` with `_low`, `_high`, `_n`, `_method`, `_coverage` (NaN for a range).
    """
    rows = []
    for compared in compare_ways(frame, study):
        key = compared.runs.curves[0].key
        for question, measure, way, over, ratio in _ratios(compared):
            rows.append(
                {
                    "study": key.study,
                    "workload": key.workload,
                    "parameters": key.parameters,
                    "sizing": key.sizing,
                    "loop": key.loop,
                    "question": question,
                    "measure": measure,
                    "arm": way.arm,
                    "model": way.model,
                    "workers": way.workers,
                    "over_arm": over.arm,
                    "over_model": over.model,
                    "over_workers": over.workers,
                    "ratio": ratio.point,
                    "ratio_low": ratio.low,
                    "ratio_high": ratio.high,
                    "ratio_n": ratio.n,
                    "ratio_method": ratio.method,
                    "ratio_coverage": ratio.coverage,
                }
            )
    return pd.DataFrame(rows)


def _ratios(compared: Compared) -> Iterator[Row]:
    for ladder in compared.ladders:
        yield "headline", "throughput", ladder.top, ladder.bottom, ladder.headline
        for step in ladder.steps:
            yield "step", step.name, step.after, step.before, step.factor
    for each in compared.rivalries:
        yield "over processes", "throughput", each.ours, each.theirs, each.throughput
        yield "over processes", "cpu_s_per_op", each.ours, each.theirs, each.cpu_s_per_op
        yield "over processes", "memory", each.ours, each.theirs, each.memory
    for found in compared.break_evens:
        for n, ratio in found.ratios.items():
            yield "break-even", "throughput", Way(found.arm, "threads", n), found.single, ratio
