"""Everything that one study says about its arms and models, section by section and loop by loop."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from scaling.analysis.break_even import BreakEven, break_evens
from scaling.analysis.collector import collectors
from scaling.analysis.held import Held
from scaling.analysis.ladder import Ladder, ladders
from scaling.analysis.paired import Paired, Way, paired
from scaling.analysis.rivals import Rivalry, rivalries
from scaling.analysis.verdict import Judged, Verdict
from scaling.analysis.versions import versions
from scaling.journal.record import StudyLine


class Ratio(NamedTuple):
    """One ratio of a comparison: what it answers, of what, over what; memory has a kind."""

    question: str
    measure: str
    of: Way
    over: Way
    value: Judged
    memory_kind: str | None = None

    @property
    def verdict(self) -> Verdict:
        """What it comes to, by the family that it stands in."""
        return self.value.verdict

    @property
    def margin(self) -> float:
        """What it must differ from 1 by to be told from it."""
        return self.verdict.margin


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons that one section's runs on one loop allow; lists may be empty."""

    runs: Paired
    ladders: list[Ladder]
    rivalries: list[Rivalry]
    break_evens: list[BreakEven]
    versions: list[Held]
    collectors: list[Held]

    @property
    def ratios(self) -> Iterator[Ratio]:
        """All of them, question by question."""
        for ladder in self.ladders:
            yield Ratio("headline", "throughput", ladder.top, ladder.bottom, ladder.headline)
            for step in ladder.steps:
                yield Ratio("step", step.name, step.after, step.before, step.factor)
        for each in self.rivalries:
            ways = each.ours, each.theirs
            yield Ratio("over processes", "throughput", *ways, each.throughput)
            yield Ratio("over processes", "cpu_s_per_op", *ways, each.cpu_s_per_op)
            yield Ratio("over processes", "memory", *ways, each.memory, each.memory_kind)
        for found in self.break_evens:
            for n, ratio in found.ratios.items():
                threads = Way(found.arm, "threads", n)
                yield Ratio("break-even", "throughput", threads, found.single, ratio)
        for question, pairs in (("version", self.versions), ("no collector", self.collectors)):
            for pair in pairs:
                yield Ratio(question, "throughput", pair.of, pair.over, pair.throughput)
                yield Ratio(question, "cpu_s_per_op", pair.of, pair.over, pair.cpu_s_per_op)

    @property
    def across_states(self) -> list[tuple[Way, Way]]:
        """The pairs of ways whose ratio is one across allocator states, each once.

        Such a ratio tells of the state, too, and must say so (DESIGN.md, Arms).
        """
        pairs = dict.fromkeys((ratio.of, ratio.over) for ratio in self.ratios)
        return [pair for pair in pairs if len(set(filter(None, map(self.state, pair)))) > 1]

    def state(self, way: Way) -> str | None:
        """The allocator state of a way's runs, as `Point.allocator_state` has it."""
        point = self.runs.point(way)
        return point.allocator_state if point else None


def compare_ways(frame: pd.DataFrame, study: StudyLine) -> list[Compared]:
    """One entry for each section and loop of a study in which two arms or models were run.

    Raises:
        UsageError: the frame holds several studies.
    """
    return [
        Compared(
            runs,
            ladders(runs),
            rivalries(runs),
            break_evens(runs),
            versions(runs),
            collectors(runs),
        )
        for runs in paired(frame, study)
        if len(runs.curves) > 1
    ]
