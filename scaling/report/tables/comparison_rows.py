"""The comparison as rows for other programs: one ratio a row, with what it is of and over."""

import pandas as pd

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared, Ratio
from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.results import StudyResults
from scaling.journal.record import StudyLine
from scaling.report.tables.columns import estimate_columns, study_columns


def comparison_rows(results: StudyResults) -> pd.DataFrame:
    """All ratios of a study.

    Columns: what it is about (study, workload, parameters, sizing); `question` (gain, headline,
    step, over processes, break-even, version, setting, loop, runtime) and `measure` (of a step what
    changes in it, else throughput, cpu_s_per_op, memory; in an open loop latency_p99_s in the place
    of throughput); the way it is of (`loop`, `arm`, `model`, `workers`, its `runs`, how many are
    `suspect`, how many more `left_out`, `allocator_state`) and the way it is over (`over_loop`,
    `over_arm` …); the `ratio` (`estimate_columns`); its `verdict` (of CPU time and memory `more`
    and `less`), `why` it is inconclusive, its `margin`, its `family` (primary or exploratory) and
    `p_differs` and `p_same`, corrected for all hypotheses of that family in the study
    (`scaling.analysis.statistics.verdict`); `memory_kind` of a ratio of memory; `builds_differ`, in
    what the two arms' builds differ and should not (of a runtime nothing: it is meant to differ in
    everything); `controls`, what the study's controls say, and its `scale`.
    """
    about = study_columns(results)
    rows = [
        _row(each, ratio, results.study) | about
        for each in results.judged
        for ratio in each.all_ratios
    ]
    return pd.DataFrame(rows)


def _row(compared: Compared, ratio: Ratio, study: StudyLine) -> dict[str, object]:
    key = compared.runs.curves[0].key
    of, over = _configuration(compared, ratio.of), _configuration(compared, ratio.over)
    return {
        "study": key.study,
        "workload": key.workload,
        "parameters": key.parameters,
        "sizing": key.sizing,
        "loop": ratio.of.loop or key.loop,
        "question": ratio.question,
        "measure": ratio.measure,
        **of,
        "over_loop": ratio.over.loop or key.loop,
        **{f"over_{name}": value for name, value in over.items()},
        **estimate_columns("ratio", ratio.value),
        "verdict": ratio.verdict.word,
        "why": ratio.verdict.why,
        "family": ratio.verdict.family,
        "margin": ratio.margin,
        "p_differs": ratio.verdict.p_differs,
        "p_same": ratio.verdict.p_same,
        "memory_kind": ratio.memory_kind,
        "builds_differ": ", ".join(
            each.fact for each in build_differences_of(study, (ratio.of.arm, ratio.over.arm))
        ),
    }


def _configuration(compared: Compared, configuration: Configuration) -> dict[str, object]:
    point = compared.runs.point(configuration)
    columns: dict[str, object] = {
        "arm": configuration.arm,
        "model": configuration.model,
        "workers": configuration.workers,
    }
    if point is not None:
        for name in ("runs", "suspect", "left_out", "allocator_state"):
            columns[name] = getattr(point, name)
    return columns
