"""The comparison as rows for other programs: one ratio a row, with what it is of and over."""

import pandas as pd

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared, Ratio
from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import CapacityRatio
from scaling.analysis.served.latency_ratios import P99, LatencyRatio
from scaling.analysis.served.open_loop import Subject, subject_of
from scaling.journal.record import StudyLine
from scaling.report.tables.columns import estimate_columns, study_columns


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
    (`scaling.analysis.statistics.verdict`); `memory_kind` of a ratio of memory; `builds_differ`, in
    what the two arms' builds differ and should not (of a runtime nothing: it is meant to differ in
    everything); `controls`, what the study's controls say, and its `scale`.
    """
    about = study_columns(results)
    study = results.study
    rows = [
        _row(each, ratio, study) | about for each in results.judged for ratio in each.all_ratios
    ]
    rows += [_p99_row(each, results) | about for each in results.latency_ratios]
    rows += [_capacity_row(each, study) | about for each in results.capacities.ratios]
    return pd.DataFrame(rows)


def _row(compared: Compared, ratio: Ratio, study: StudyLine) -> dict[str, object]:
    key = compared.runs.curves[0].key
    subject = Subject(key.workload, key.parameters, key.sizing, key.loop)
    of, over = _configuration(compared, ratio.of), _configuration(compared, ratio.over)
    return _ratio_row(subject, ratio, of, over, study)


def _p99_row(each: LatencyRatio, results: StudyResults) -> dict[str, object]:
    ratio = Ratio("over processes", P99, each.of, each.over, each.ratio)
    compared = next(
        compared
        for compared in results.judged
        if compared.runs.section.rate_per_s == each.rate_per_s
        and subject_of(compared.runs.curves[0].key) == each.subject
    )
    return _row(compared, ratio, results.study)


def _capacity_row(each: CapacityRatio, study: StudyLine) -> dict[str, object]:
    of, over = each.of.configuration, each.over.configuration
    measure = f"capacity at {each.of.objective.text}"
    return _ratio_row(
        each.of.subject,
        Ratio(each.question, measure, of, over, each.ratio),
        _names(of) | {"runs": len(each.of.blocks)},
        _names(over) | {"runs": len(each.over.blocks)},
        study,
    )


def _ratio_row(
    subject: Subject,
    ratio: Ratio,
    of: dict[str, object],
    over: dict[str, object],
    study: StudyLine,
) -> dict[str, object]:
    return {
        "study": study.name,
        "workload": subject.workload,
        "parameters": subject.parameters,
        "sizing": subject.sizing,
        "loop": ratio.of.loop or subject.loop,
        "question": ratio.question,
        "measure": ratio.measure,
        **of,
        "over_loop": ratio.over.loop or subject.loop,
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
    columns = _names(configuration)
    if point is not None:
        for name in ("runs", "suspect", "left_out", "allocator_state"):
            columns[name] = getattr(point, name)
    return columns


def _names(configuration: Configuration) -> dict[str, object]:
    return {
        "arm": configuration.arm,
        "model": configuration.model,
        "workers": configuration.workers,
    }
