"""Everything that one study says about its arms and models, section by section and loop by loop."""

from dataclasses import dataclass

import pandas as pd

from scaling.analysis.break_even import BreakEven, break_evens
from scaling.analysis.ladder import Ladder, ladders
from scaling.analysis.paired import Paired, paired
from scaling.analysis.rivals import Rivalry, rivalries
from scaling.journal.record import StudyLine


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons that one section's runs on one loop allow; lists may be empty."""

    runs: Paired
    ladders: list[Ladder]
    rivalries: list[Rivalry]
    break_evens: list[BreakEven]


def compare_ways(frame: pd.DataFrame, study: StudyLine) -> list[Compared]:
    """One entry for each section and loop of a study in which two arms or models were run."""
    return [
        Compared(runs, ladders(runs), rivalries(runs), break_evens(runs))
        for runs in paired(frame, study)
        if len(runs.curves) > 1
    ]
