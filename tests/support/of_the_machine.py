"""Tells what a machine does to a run of a fraction of a second from what only our code can do."""

from collections.abc import Callable

import pandas as pd

from scaling.analysis.table.load import judge_of, rows_of
from scaling.journal.record import RunLine, StudyLine

# What a machine may do to any run,
OF_ANY = {"throttled", "clock-stepped", "machine-busy"}
# to a short one if it was busy, or if its threads waited for the GIL,
OF_A_BUSY_ONE = {"not-all-busy", "not-steady", "not-at-rest", "service-busy", "uneven-finish"}
# and to one on glibc's malloc: two runs of a cell may differ in the state of its allocator.
OF_GLIBC = {"mixed-allocator-state"}
# The reasons among them for which a session makes a run again.
MADE_AGAIN = {"throttled", "clock-stepped", "not-all-busy"}


def is_ours(arm: str, reasons: tuple[str, ...]) -> bool:
    """Whether there is a reason against a run on `arm` that no machine explains."""
    stock = arm == "3.14"
    unexplained = set(reasons) - OF_ANY
    if stock:
        unexplained -= OF_GLIBC
    if stock or "machine-busy" in reasons:
        unexplained -= OF_A_BUSY_ONE
    return bool(unexplained)


def judge_of_ours(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs that has none made again for what only the machine did to it."""
    judge = judge_of(study)

    def why_invalid(run: RunLine) -> str | None:
        rows = rows_of([run], study)
        (findings,) = rows["findings"]
        excused = not is_ours(run.cell.arm, tuple(each.word for each in findings))
        return None if excused and rows["operations"][0] > 0 else judge(run)

    return why_invalid


def require_none_is_ours(frame: pd.DataFrame) -> None:
    """Fail if an invalid run of the frame is so by a fault of ours.

    Raises:
        AssertionError: with the runs and the reasons against them.
    """
    invalid = frame[~frame["valid"]]
    runs = zip(invalid["arm"], invalid["reasons"], strict=True)
    ours = invalid[[is_ours(*run) for run in runs]]
    assert ours.empty, ours[["workload", "workers", "loop", "arm", "details"]].to_string()
