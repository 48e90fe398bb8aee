"""The margins that verdicts heed, and where they come from, in words."""

import math
from collections.abc import Iterable

from scaling.analysis.comparison.between_studies import Change
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.paired import Measure
from scaling.analysis.validity import MARGIN
from scaling.base import formats


def floors(compared: Compared) -> list[str]:
    """The margins that the verdicts heed and where they come from; nothing where there is none."""
    if all(ratio.value.coverage is None for ratio in compared.ratios):
        return []
    runs = compared.runs
    asked: dict[Measure, str] = {"throughput": "throughput"}
    if any(ratio.measure == "cpu_s_per_op" for ratio in compared.ratios):
        asked["cpu_s_per_op"] = "CPU time"
    if compared.baseline_ratios:
        asked |= {
            each.memory_kind: f"memory ({each.memory_kind})" for each in compared.baseline_ratios
        }
    margins = [f"{formats.percent(runs.margin(each))} in {noun}" for each, noun in asked.items()]
    known = not math.isnan(runs.floor.of(runs.curves[0].key.workload))
    why = f"no less than A/A twins came apart, nor than {formats.percent(MARGIN)}"
    why = why if known else "no A/A twins tell of the noise"
    return [f"Verdicts heed a margin of {formats.listed(margins)}: {why}."]


def floors_across(changes: Iterable[Change]) -> list[str]:
    """The margins of a section of two studies, which are those of the noisier one."""
    judged = [each for each in changes if each.throughput.coverage is not None]
    if not judged:
        return []
    first = judged[0]
    margins = [f"{formats.percent(first.throughput.verdict.margin)} in throughput"]
    if any(each.memory.n for each in judged):
        margins.append(f"{formats.percent(first.memory.verdict.margin)} in memory")
    why = f"{formats.percent(MARGIN)}, or as far as A/A twins of either study came apart"
    return [f"Verdicts heed a margin of {formats.listed(margins)}: {why}."]
