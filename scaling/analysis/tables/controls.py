"""The controls: do machine and builds behave as they must? Assertions on rows of `ratios`.

`compute` shares nothing: it must gain with every core without the GIL, and not gain with it.
`shared`, an attribute written by all, must not gain on either. A control fails only if its whole
interval (or range) is on the wrong side of the limit. The study is then void: what disturbs the
simplest workload disturbs all others. A control holds only if its median is on the right side; in
between it is undecided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from scaling.analysis.tables.ratios import GAIN
from scaling.base.formats import listed, number, span
from scaling.base.models import THREADS
from scaling.journal.record import Machine, StudyLine
from scaling.study.controls import CONTROLS, COUNTS, arms_with_controls, has_control, is_control

# What a further core must add at least, as a share of the first. Free-threaded `compute` reaches
# 1.9 and more at N = 2 on idle physical cores; 0.6 leaves room for processors that clock lower with
# every busy core, and is far from the 0.3 of an SMT sibling that is sold as a core.
LEAST_GAIN = 0.6
MOST_WITH_GIL = 1.15  # one worker runs at a time; the rest is noise and work outside the GIL
MOST_SHARED = 1.10  # every write moves the cache line to another core: no gain
FEWEST_FOR_PROOF = 2  # a single run has no range, and proves nothing

UNKNOWN = "nothing shows whether machine and builds behave"

type Status = Literal["sound", "void", "undecided", "missing", "on some arms", "left out"]


class Outcome(NamedTuple):
    """A control at one N: what it gained, and what it must; one of `least` and `most` is None."""

    workload: str
    arm: str
    workers: int
    gain: float
    low: float
    high: float
    n: int
    least: float | None
    most: float | None

    @property
    def fails(self) -> bool:
        """Whether the whole interval is on the wrong side."""
        if self.n < FEWEST_FOR_PROOF:
            return False
        if self.least is not None:
            return self.high < self.least
        return self.most is not None and self.low > self.most

    @property
    def holds(self) -> bool:
        """Whether the median is on the right side."""
        return self.gain >= self.least if self.least is not None else self.gain <= (self.most or 0)

    @property
    def text(self) -> str:
        """What was found and what was expected."""
        limit = f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"
        bounds = f" ({span(number(self.low), number(self.high))})" if self.n > 1 else ""
        return (
            f"{self.workload} on {self.arm} at N = {self.workers}: "
            f"{number(self.gain)}{bounds} times N = 1, expected {limit}"
        )


@dataclass(frozen=True, slots=True)
class Soundness:
    """What the controls show about a study, with reasons unless it is sound."""

    status: Status
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line at the top of every output; empty for a sound study, and for one of `scaling
        app`, whose user did not leave the controls out.
        """
        reasons = "; ".join(self.reasons)
        return {
            "sound": "",
            "void": f"VOID: the controls fail, so no figure of this study is valid: {reasons}",
            "undecided": f"Controls undecided, so no figure of this study can be trusted yet: "
            f"{reasons}",
            "missing": f"Controls missing: {reasons}",
            "on some arms": f"Controls were run on {reasons} only, and hold there",
            "left out": f"Controls left out: {reasons}" if reasons else "",
        }[self.status]


def outcomes(ratios: pd.DataFrame, study: StudyLine) -> list[Outcome]:
    """Every control at every N at which it can hold or fail."""
    if ratios.empty:
        return []
    gains = ratios[(ratios["question"] == GAIN) & ratios["control"] & (ratios["model"] == THREADS)]
    found = (_outcome(row, study) for row in gains.to_dict("records"))
    return [each for each in found if each is not None]


def _outcome(row: dict[Any, Any], study: StudyLine) -> Outcome | None:
    workload, arm, n = str(row["workload"]), str(row["arm"]), int(row["workers"])
    known = arm in study.arms and is_control(workload, row["cell"].parameters)
    two = n == max(COUNTS)
    least = most = None
    if not known:
        return None
    if workload == "shared":
        most = MOST_SHARED if two else None
    elif study.arms[arm].expected.gil_enabled:
        most = MOST_WITH_GIL if two else None
    elif row["region"] == "cores" and n <= _full_cores(study.machine, n):
        least = 1 + LEAST_GAIN * (n - 1)
    if least is None and most is None:
        return None
    gain, low, high = (float(row[name]) for name in ("ratio", "low", "high"))
    return Outcome(workload, arm, n, gain, low, high, int(row["n"]), least, most)


def _full_cores(machine: Machine, otherwise: int) -> int:
    """Cores that are no efficiency cores."""
    return (machine.physical_cores or otherwise) - (machine.efficiency_cpus or 0)


def soundness(ratios: pd.DataFrame, study: StudyLine) -> Soundness:
    """The status that follows from all controls of a study."""
    found = outcomes(ratios, study)
    failed = tuple(each.text for each in found if each.fails)
    if failed:
        return Soundness("void", failed)
    undecided = tuple(each.text for each in found if not each.holds)
    lacking = tuple(_lacking(found, study))
    if undecided:
        return Soundness("undecided", (*undecided, *(f"missing: {each}" for each in lacking)))
    if not lacking:
        return Soundness("sound")
    if study.study.get("controls") is False:
        if not found:
            return Soundness("left out", () if "application" in study.study else (UNKNOWN,))
        if own := arms_with_controls(study.arms, {(each.workload, each.arm) for each in found}):
            return Soundness("on some arms", (listed(own),))
    return Soundness("missing", lacking)


def _lacking(found: list[Outcome], study: StudyLine) -> Iterator[str]:
    """Controls that have no valid gain, or were not run at all."""
    ran = {(each.workload, each.arm) for each in found}
    for arm, found_as in study.arms.items():
        for control in CONTROLS:
            known = not found_as.runtime and has_control(arm, control)
            if known and (control, arm) not in ran:
                yield f"{control} on {arm}"
