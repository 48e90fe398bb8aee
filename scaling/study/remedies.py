"""The study of remedies: each setting that someone recommends against none, at N = 1 and N.

`scaling remedies` makes it. From there on it is a study like any other: planned, measured in
blocks, resumed and shown in the same way. A second one measures the best of them together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scaling.base.errors import UsageError, unknown
from scaling.builds.arms import Arm, parse_arm
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.journal.record import Cell
from scaling.study.definition import WorkloadEntry
from scaling.study.file import StudyFile
from scaling.study.load import CLOSED, RATE
from scaling.study.presets import PRESETS

FREE = "3.14t"  # threads without the GIL: what remedies are looked for
P99_RATE = "50%"  # of the peak: busy, and not so busy that latency is all queueing
TOGETHER = "together"

# Fifteen arms at two N and two A/A pairs in ten blocks are 320 runs: eleven minutes. A verdict
# needs six blocks.
EFFORT = {
    "smoke": {"blocks": 6, "window_s": 0.4},
    "default": {"blocks": 10, "window_s": 1.0},
    "rigorous": {"blocks": 24, "window_s": 2.0},
}
# P99 takes 2,000 requests. Twelve arms in three cells each and eight blocks: twenty minutes.
EFFORT_SERVED = {
    "smoke": {"blocks": 6, "window_s": 1.0},
    "default": {"blocks": 8, "window_s": 2.0},
    "rigorous": {"blocks": 20, "window_s": 4.0},
}
assert EFFORT.keys() == EFFORT_SERVED.keys() == PRESETS.keys()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A remedy that cannot be measured on an arm, and why."""

    remedy: str
    arm: str
    reason: str


def with_remedy(base: str, names: Iterable[str]) -> Arm:
    """An arm with these settings added.

    Raises:
        UsageError: one of them does not fit the build.
    """
    arm = parse_arm(base)
    return parse_arm("+".join([arm.name, *names]))


def reason_against(name: str, base: str, cell: Cell) -> str | None:
    """Why a remedy cannot be measured on an arm in a cell like this; None if it can.

    Raises:
        UsageError: there is no such remedy.
    """
    if name not in REMEDIES:
        raise unknown("remedy", name, REMEDIES)
    if name in parse_arm(base).settings:
        return "the arm has it already"
    try:
        arm = with_remedy(base, [name])
    except UsageError as error:
        return str(error).rpartition(f"{name!r} does not fit: ")[2]
    reason = arm.unfit(cell)
    return reason.removeprefix(f"{name}: ") if reason is not None else None


def remedies_study(
    workload: WorkloadEntry,
    arms: Mapping[str, Sequence[Sequence[str]]],
    workers: tuple[int, ...],
    name: str,
    *,
    served: bool,
) -> StudyFile:
    """What a study file would say that asks for this.

    `arms` has for each arm without a remedy the settings to add, several for one arm of the study.
    A served workload is also measured at a rate, for its P99, with the most workers.
    """
    every = [
        arm
        for base, added in arms.items()
        for arm in (base, *(with_remedy(base, names).name for names in added))
    ]
    values: dict[str, Any] = {
        "name": name,
        "arms": tuple(every),
        "models": ("threads",),
        "workers": workers,
        "controls": False,  # remedies have controls of their own
        "primary": ("setting",),
    }
    if not served:
        return StudyFile(values, (workload,), EFFORT)
    peak = _at_rate(workload, CLOSED, workers)
    return StudyFile(values, (peak, _at_rate(workload, P99_RATE, workers[-1:])), EFFORT_SERVED)


def _at_rate(workload: WorkloadEntry, rate: float | str, workers: tuple[int, ...]) -> WorkloadEntry:
    parameters = {**workload.parameters, RATE: rate}
    return WorkloadEntry(name=workload.name, parameters=parameters, workers=workers)


def best_together(base: str, winners: Sequence[str], cell: Cell) -> tuple[str, ...]:
    """Those of the winners that can be had at once, the best first in `winners`.

    Of several that replace the same thing, the best one is taken.
    """
    chosen: list[str] = []
    for name in winners:
        groups = {SETTINGS[each].instead_of for each in chosen} - {""}
        if SETTINGS[name].control or SETTINGS[name].instead_of in groups:
            continue
        if with_remedy(base, [*chosen, name]).unfit(cell) is None:
            chosen.append(name)
    return tuple(chosen)
