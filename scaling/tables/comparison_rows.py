"""The comparison as rows for other programs: one ratio a row, with what it is of and over."""

import msgspec
import pandas as pd

from scaling.analysis.alike import unlike
from scaling.analysis.comparison import Compared, Ratio, compare_ways
from scaling.analysis.controls import verdict
from scaling.analysis.paired import Way
from scaling.journal.record import StudyLine


def comparison_rows(frame: pd.DataFrame, study: StudyLine) -> pd.DataFrame:
    """All ratios of a study's comparison.

    Columns: what it is about (study, workload, parameters, sizing, loop); `question` (headline,
    step, over processes, break-even) and `measure` (of a step what changes in it, else throughput,
    cpu_s_per_op, memory); the way it is of (`arm`, `model`, `workers`, its `runs`, how many of them
    `suspect`, how many more `left_out`, `allocator_state`) and the way it is over (`over_arm` …);
    `ratio` with `_low`, `_high`, `_n`, `_method`, `_coverage` (NaN for a range); `memory_kind` of a
    ratio of memory; `builds_differ`, in what the two arms' builds differ and should not;
    `controls`, what the study's controls say.
    """
    controls = verdict(frame, study).status
    rows = [
        _row(compared, ratio, study) | {"controls": controls}
        for compared in compare_ways(frame, study)
        for ratio in compared.ratios
    ]
    return pd.DataFrame(rows)


def _row(compared: Compared, ratio: Ratio, study: StudyLine) -> dict[str, object]:
    key = compared.runs.curves[0].key
    of, over = _way(compared, ratio.of), _way(compared, ratio.over)
    return {
        "study": key.study,
        "workload": key.workload,
        "parameters": key.parameters,
        "sizing": key.sizing,
        "loop": key.loop,
        "question": ratio.question,
        "measure": ratio.measure,
        **of,
        **{f"over_{name}": value for name, value in over.items()},
        "ratio": ratio.value.point,
        "ratio_low": ratio.value.low,
        "ratio_high": ratio.value.high,
        "ratio_n": ratio.value.n,
        "ratio_method": ratio.value.method,
        "ratio_coverage": ratio.value.coverage,
        "memory_kind": ratio.memory_kind,
        "builds_differ": ", ".join(_differing(study, ratio)),
    }


def _way(compared: Compared, way: Way) -> dict[str, object]:
    point = compared.runs.point(way)
    told: dict[str, object] = {"arm": way.arm, "model": way.model, "workers": way.workers}
    if point is not None:
        for name in ("runs", "suspect", "left_out", "allocator_state"):
            told[name] = getattr(point, name)
    return told


def _differing(study: StudyLine, ratio: Ratio) -> list[str]:
    two = {ratio.of.arm, ratio.over.arm}
    arms = {name: arm for name, arm in study.arms.items() if name in two}
    return [each.fact for each in unlike(msgspec.structs.replace(study, arms=arms))]
