"""Every ratio of one study with its verdict: gains, and arms, models and loops compared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from scaling.analysis.comparison.baseline import BaselineRatio, baseline_ratios
from scaling.analysis.comparison.break_even import BreakEven, break_evens
from scaling.analysis.comparison.contrast import Contrast, settings, versions
from scaling.analysis.comparison.gain import Gain, gains
from scaling.analysis.comparison.ladder import Ladder, ladders
from scaling.analysis.comparison.loops import loops, runtimes, together
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.comparison.rate_ratios import RateRatio, rate_ratios
from scaling.analysis.statistics.pending import Pending, combined
from scaling.analysis.statistics.verdict import RatioVerdict, Verdict


class Ratio(NamedTuple):
    """One ratio of a study: what it answers, of what, over what; memory has a kind."""

    question: str
    measure: str
    of: Configuration
    over: Configuration
    value: RatioVerdict
    memory_kind: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Its verdict, corrected for the other hypotheses of its family."""
        return self.value.verdict

    @property
    def margin(self) -> float:
        """What it must differ from 1 by."""
        return self.verdict.margin


@dataclass(frozen=True, slots=True)
class Compared:
    """The gains and comparisons that one section's runs allow; lists may be empty.

    Those of `loops` and `runtimes` are of the runs on all of its loops, the others on one. In an
    open loop there are those of `at_rate` alone.
    """

    runs: Paired
    gains: list[Gain] = field(default_factory=list)
    ladders: list[Ladder] = field(default_factory=list)
    baseline_ratios: list[BaselineRatio] = field(default_factory=list)
    break_evens: list[BreakEven] = field(default_factory=list)
    versions: list[Contrast] = field(default_factory=list)
    settings: list[Contrast] = field(default_factory=list)
    loops: list[Contrast] = field(default_factory=list)
    runtimes: list[Contrast] = field(default_factory=list)
    at_rate: list[RateRatio] = field(default_factory=list)

    @property
    def is_across_loops(self) -> bool:
        """Whether it is of the runs on all loops of its section."""
        return not self.runs.loop

    @property
    def compares(self) -> bool:
        """Whether there is more than one curve to compare; else there are gains alone."""
        return len(self.runs.curves) > 1

    @property
    def all_ratios(self) -> Iterator[Ratio]:
        """Every ratio that has a verdict: the gains, then `ratios`."""
        for gain in self.gains:
            yield Ratio("gain", "throughput", gain.of, gain.over, gain.throughput)
        yield from self.ratios

    @property
    def ratios(self) -> Iterator[Ratio]:
        """Those between arms, models, loops and runtimes, question by question."""
        for ladder in self.ladders:
            yield Ratio("headline", "throughput", ladder.top, ladder.bottom, ladder.headline)
            for step in ladder.steps:
                yield Ratio("step", step.name, step.after, step.before, step.factor)
        for each in self.baseline_ratios:
            configurations = each.ours, each.theirs
            yield Ratio("over processes", "throughput", *configurations, each.throughput)
            yield Ratio("over processes", "cpu_s_per_op", *configurations, each.cpu_s_per_op)
            for (theirs, kind), memory in each.memory:
                yield Ratio("over processes", "memory", each.ours, theirs, memory, kind)
        for found in self.break_evens:
            for n, ratio in found.ratios.items():
                threads = Configuration(found.arm, "threads", n)
                yield Ratio("break-even", "throughput", threads, found.single, ratio)
        for question, pairs in (
            ("version", self.versions),
            ("setting", self.settings),
            ("loop", self.loops),
            ("runtime", self.runtimes),
        ):
            for pair in pairs:
                yield Ratio(question, "throughput", pair.of, pair.over, pair.throughput)
                yield Ratio(question, "cpu_s_per_op", pair.of, pair.over, pair.cpu_s_per_op)
        yield from self._at_rate

    @property
    def _at_rate(self) -> Iterator[Ratio]:
        for each in self.at_rate:
            configurations = each.of, each.over
            if each.latency_p99_s is not None:
                yield Ratio(each.question, "latency_p99_s", *configurations, each.latency_p99_s)
            yield Ratio(each.question, "cpu_s_per_op", *configurations, each.cpu_s_per_op)
            yield Ratio(each.question, "memory", *configurations, each.memory, each.memory_kind)

    @property
    def across_states(self) -> list[tuple[Configuration, Configuration]]:
        """The pairs of configurations that ran in different allocator states, each once.

        Their ratio includes that difference, which must be shown beside it (DESIGN.md, Arms).
        """
        pairs = dict.fromkeys((ratio.of, ratio.over) for ratio in self.ratios)
        return [pair for pair in pairs if len(set(filter(None, map(self.state, pair)))) > 1]

    def state(self, configuration: Configuration) -> str | None:
        """The allocator state of a configuration's runs, as `Point.allocator_state` has it."""
        point = self.runs.point(configuration)
        return point.allocator_state if point else None


def compare(every: Iterable[Paired]) -> Pending[list[Compared]]:
    """The ratios of a study, from all of its runs: one entry for each section and loop, and after
    those of a section one across its loops where there is something to compare.

    They wait for all other hypotheses of the study, since a family is that of the whole study
    (`scaling.analysis.statistics.verdict`).
    """
    pending: list[Pending[Compared]] = []
    for _, group in groupby(every, key=lambda runs: runs.section.curves[0].key):
        parts = list(group)
        pending += map(_on_one_loop, parts)
        if len(parts) > 1 and parts[0].section.rate_per_s is None:
            pending.append(_across_loops(together(parts)))

    def complete(verdicts: Iterator[RatioVerdict]) -> list[Compared]:
        found = [each.complete(verdicts) for each in pending]
        return [each for each in found if each.runs.loop or each.loops or each.runtimes]

    return Pending([tested for each in pending for tested in each.hypotheses], complete)


def _on_one_loop(runs: Paired) -> Pending[Compared]:
    if runs.section.rate_per_s is not None:
        return combined(partial(Compared, runs), at_rate=rate_ratios(runs))
    parts: dict[str, Pending[Any]] = {"gains": gains(runs)}
    if len(runs.curves) > 1:
        parts |= {
            "ladders": ladders(runs),
            "baseline_ratios": baseline_ratios(runs),
            "break_evens": break_evens(runs),
            "versions": versions(runs),
            "settings": settings(runs),
        }
    return combined(partial(Compared, runs), **parts)


def _across_loops(runs: Paired) -> Pending[Compared]:
    return combined(partial(Compared, runs), loops=loops(runs), runtimes=runtimes(runs))
