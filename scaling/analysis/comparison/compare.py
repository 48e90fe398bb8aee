"""Everything that one study says about its arms, models and loops, section by section."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from scaling.analysis.comparison.baseline import BaselineRatio, baseline_ratios
from scaling.analysis.comparison.break_even import BreakEven, break_evens
from scaling.analysis.comparison.collector import collectors
from scaling.analysis.comparison.contrast import Contrast
from scaling.analysis.comparison.ladder import Ladder, ladders
from scaling.analysis.comparison.loops import loops, runtimes, together
from scaling.analysis.comparison.paired import Configuration, Paired, paired
from scaling.analysis.comparison.versions import versions
from scaling.analysis.statistics.verdict import RatioVerdict, Verdict
from scaling.journal.record import StudyLine


class Ratio(NamedTuple):
    """One ratio of a comparison: what it answers, of what, over what; memory has a kind."""

    question: str
    measure: str
    of: Configuration
    over: Configuration
    value: RatioVerdict
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
    """The comparisons that one section's runs allow; lists may be empty.

    Those of `loops` and `runtimes` are of the runs on all of its loops, the others on one.
    """

    runs: Paired
    ladders: list[Ladder] = field(default_factory=list)
    baseline_ratios: list[BaselineRatio] = field(default_factory=list)
    break_evens: list[BreakEven] = field(default_factory=list)
    versions: list[Contrast] = field(default_factory=list)
    collectors: list[Contrast] = field(default_factory=list)
    loops: list[Contrast] = field(default_factory=list)
    runtimes: list[Contrast] = field(default_factory=list)

    @property
    def is_across_loops(self) -> bool:
        """Whether it is of the runs on all loops of its section."""
        return not self.runs.loop

    @property
    def ratios(self) -> Iterator[Ratio]:
        """All of them, question by question."""
        for ladder in self.ladders:
            yield Ratio("headline", "throughput", ladder.top, ladder.bottom, ladder.headline)
            for step in ladder.steps:
                yield Ratio("step", step.name, step.after, step.before, step.factor)
        for each in self.baseline_ratios:
            configurations = each.ours, each.theirs
            yield Ratio("over processes", "throughput", *configurations, each.throughput)
            yield Ratio("over processes", "cpu_s_per_op", *configurations, each.cpu_s_per_op)
            yield Ratio("over processes", "memory", *configurations, each.memory, each.memory_kind)
        for found in self.break_evens:
            for n, ratio in found.ratios.items():
                threads = Configuration(found.arm, "threads", n)
                yield Ratio("break-even", "throughput", threads, found.single, ratio)
        for question, pairs in (
            ("version", self.versions),
            ("no collector", self.collectors),
            ("loop", self.loops),
            ("runtime", self.runtimes),
        ):
            for pair in pairs:
                yield Ratio(question, "throughput", pair.of, pair.over, pair.throughput)
                yield Ratio(question, "cpu_s_per_op", pair.of, pair.over, pair.cpu_s_per_op)

    @property
    def across_states(self) -> list[tuple[Configuration, Configuration]]:
        """The pairs of ways whose ratio is one across allocator states, each once.

        Such a ratio tells of the state, too, and must say so (DESIGN.md, Arms).
        """
        pairs = dict.fromkeys((ratio.of, ratio.over) for ratio in self.ratios)
        return [pair for pair in pairs if len(set(filter(None, map(self.state, pair)))) > 1]

    def state(self, configuration: Configuration) -> str | None:
        """The allocator state of a way's runs, as `Point.allocator_state` has it."""
        point = self.runs.point(configuration)
        return point.allocator_state if point else None


def compare_configurations(frame: pd.DataFrame, study: StudyLine) -> list[Compared]:
    """One entry for each section and loop of a study in which two arms or models were run.

    After those of a section comes one across its loops, if there are any to hold against asyncio,
    or other runtimes against Python.

    Raises:
        UsageError: the frame holds several studies.
    """
    return compare(paired(frame, study))


def compare(every: Iterable[Paired]) -> list[Compared]:
    """The same of all of a study's runs, paired."""
    found = []
    for _, group in groupby(every, key=lambda runs: runs.section.curves[0].key):
        parts = list(group)
        found += [_on_one_loop(runs) for runs in parts if len(runs.curves) > 1]
        if len(parts) > 1:
            across = _across_loops(together(parts))
            found += [across] if across.loops or across.runtimes else []
    return found


def _on_one_loop(runs: Paired) -> Compared:
    return Compared(
        runs,
        ladders(runs),
        baseline_ratios(runs),
        break_evens(runs),
        versions(runs),
        collectors(runs),
    )


def _across_loops(runs: Paired) -> Compared:
    return Compared(runs, loops=loops(runs), runtimes=runtimes(runs))
