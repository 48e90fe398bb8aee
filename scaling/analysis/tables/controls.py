"""The controls: do machine and builds behave as they must? Assertions on rows of `ratios`.

`compute` shares nothing: it must gain with every core without the GIL, and not gain with it.
`shared`, an attribute written by all, must not gain on either. A control fails only if its whole
interval (or range) is on the wrong side of the limit. The study is then void: what disturbs the
simplest workload disturbs all others. A control holds only if its median is on the right side; in
between it is undecided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from scaling.analysis.tables.ratios import GAIN
from scaling.base.formats import listed, number, span
from scaling.base.models import THREADS
from scaling.journal.record import Machine, StudyLine
from scaling.study.controls import CONTROLS, COUNTS, arms_with_controls, has_control, is_control

# The least gain from a further core, as a share of the first. Free-threaded `compute` reaches
# 1.9 and more at N = 2 on idle physical cores; 0.6 leaves room for processors that clock lower with
# every busy core, and is far from the 0.3 of an SMT sibling that is sold as a core.
LEAST_GAIN = 0.6
MOST_WITH_GIL = 1.15  # one worker runs at a time; the rest is noise and work outside the GIL
MOST_SHARED = 1.10  # every write moves the cache line to another core: no gain
FEWEST_FOR_PROOF = 2  # a single run has no range, and proves nothing

UNKNOWN = "nothing shows whether machine and builds behave"

type Status = Literal["sound", "void", "undecided", "missing", "on some arms", "left out"]


@dataclass(frozen=True, slots=True)
class Soundness:
    """The outcome of a study's controls, with reasons unless it is sound."""

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


def outcomes(ratios: pd.DataFrame, study: StudyLine) -> pd.DataFrame:
    """The gains of controls at every N at which they can fail: rows of `ratios`.

    Columns besides: the limits `least` and `most`, infinite where there is none; `fails`, the whole
    interval is on the wrong side; `holds`, the median is on the right side; `text`.
    """
    gains = ratios[(ratios["question"] == GAIN) & ratios["control"] & (ratios["model"] == THREADS)]
    limits = np.array([_limits(row, study) for row in gains.to_dict("records")]).reshape(-1, 2)
    found = gains.assign(least=limits[:, 0], most=limits[:, 1])[np.isfinite(limits).any(axis=1)]
    is_beyond = (found["high"] < found["least"]) | (found["low"] > found["most"])
    return found.assign(
        fails=is_beyond & (found["n"] >= FEWEST_FOR_PROOF),
        holds=found["ratio"].between(found["least"], found["most"]),
        text=[_text(row) for row in found.to_dict("records")],
    )


def _limits(row: dict[Any, Any], study: StudyLine) -> tuple[float, float]:
    """The least and the most that a control must gain; infinite where nothing limits it."""
    workload, arm, n = str(row["workload"]), str(row["arm"]), int(row["workers"])
    is_two = n == max(COUNTS)
    if arm not in study.arms or not is_control(workload, row["cell"].parameters):
        return -np.inf, np.inf
    if workload == "shared":
        return -np.inf, MOST_SHARED if is_two else np.inf
    if study.arms[arm].expected.gil_enabled:
        return -np.inf, MOST_WITH_GIL if is_two else np.inf
    has_cores = row["region"] == "cores" and n <= _full_cores(study.machine, n)
    return 1 + LEAST_GAIN * (n - 1) if has_cores else -np.inf, np.inf


def _text(row: dict[Any, Any]) -> str:
    has_least = np.isfinite(row["least"])
    limit = f"at least {row['least']:g}" if has_least else f"at most {row['most']:g}"
    bounds = f" ({span(number(row['low']), number(row['high']))})" if row["n"] > 1 else ""
    return (
        f"{row['workload']} on {row['arm']} at N = {row['workers']}: "
        f"{number(row['ratio'])}{bounds} times N = 1, expected {limit}"
    )


def _full_cores(machine: Machine, otherwise: int) -> int:
    """Cores that are no efficiency cores."""
    return (machine.physical_cores or otherwise) - (machine.efficiency_cpus or 0)


def soundness(ratios: pd.DataFrame, study: StudyLine) -> Soundness:
    """The status that follows from all controls of a study."""
    found = outcomes(ratios, study)
    failed = tuple(found.loc[found["fails"], "text"])
    if failed:
        return Soundness("void", failed)
    undecided = tuple(found.loc[~found["holds"], "text"])
    ran = set(zip(found["workload"], found["arm"], strict=True))
    lacking = tuple(_lacking(ran, study))
    if undecided:
        return Soundness("undecided", (*undecided, *(f"missing: {each}" for each in lacking)))
    if not lacking:
        return Soundness("sound")
    if study.study.get("controls") is False:
        if not ran:
            return Soundness("left out", () if "application" in study.study else (UNKNOWN,))
        if own := arms_with_controls(study.arms, ran):
            return Soundness("on some arms", (listed(own),))
    return Soundness("missing", lacking)


def _lacking(ran: set[tuple[str, str]], study: StudyLine) -> Iterator[str]:
    for arm, found_as in study.arms.items():
        for control in CONTROLS:
            known = not found_as.runtime and has_control(arm, control)
            if known and (control, arm) not in ran:
                yield f"{control} on {arm}"
