"""What a study's journal says, worked out once: all that its outputs draw on.

Tables, CSV files, Markdown, plots and the report tell of the same sections, comparisons and doubts.
Each is worked out when it is first asked for, and kept: what costs time is never done twice, and
no two outputs can tell different things.
"""

from functools import cached_property

import pandas as pd

from scaling.analysis.comparison.compare import Compared, compare
from scaling.analysis.comparison.paired import Paired, pair
from scaling.analysis.controls import Outcome, Soundness, outcomes, soundness_of
from scaling.analysis.curves.sections import RunIssue, Section, run_issues, sections
from scaling.analysis.curves.sweeps import Sweep, sweeps
from scaling.analysis.statistics.drift import Drift, drift
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.journal.record import StudyLine


class StudyResults:
    """One study's frame (of `scaling.load`) and first line, and what they come to.

    Whatever is asked of the frame of several studies raises `UsageError`, but for its sections,
    sweeps and blemishes.
    """

    def __init__(self, frame: pd.DataFrame, study: StudyLine) -> None:
        self.frame = frame
        self.study = study

    @cached_property
    def sections(self) -> list[Section]:
        """Its curves, in the order in which they are told."""
        return sections(self.frame, self.study)

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """Sections held against each other across one parameter."""
        return sweeps(self.sections, self.study)

    @cached_property
    def floor(self) -> NoiseFloor:
        """What its A/A twins tell."""
        return noise_floor(self.frame, self.study)

    @cached_property
    def paired(self) -> list[Paired]:
        """Its runs as block × way, for each section and loop."""
        return pair(self.frame, self.sections, self.floor)

    @cached_property
    def compared(self) -> list[Compared]:
        """Its arms, models and loops held against each other."""
        return compare(self.paired)

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Every control at every N that tells something."""
        return list(outcomes(self.frame, self.study))

    @cached_property
    def soundness(self) -> Soundness:
        """What its controls come to."""
        return soundness_of(self.outcomes, self.study)

    @cached_property
    def drift(self) -> Drift:
        """Whether its machine got faster or slower meanwhile."""
        return drift(self.frame)

    @cached_property
    def run_issues(self) -> list[RunIssue]:
        """Its runs that are not simply valid."""
        return run_issues(self.frame)
