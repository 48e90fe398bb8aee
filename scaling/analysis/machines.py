"""The same questions on several machines: each machine's verdict, and what holds on all of them.

A machine's verdicts are those of its own study. That a conclusion holds on all is an
intersection–union test (R. L. Berger, Technometrics 24 (1982)): each machine must show it at the
level of a single test, and no correction is needed for how many there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.study.questions import P99, THROUGHPUT

type Holds = Literal["everywhere", "not everywhere", "undecided"]

UNDECIDED = "inconclusive"
# Questions whose baseline is the best that the machine has: another arm or model on each, perhaps.
BEST = ("over processes", "break-even")


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One ratio of a section and loop on every machine that measured it, by the machine's label.

    `title` names the section and loop. On each machine it is of the same configurations; where it
    is over the best one, without the arm that was best there.
    """

    title: str
    ratio: Ratio
    found: dict[str, RatioVerdict]
    machines: int

    @property
    def words(self) -> dict[str, str]:
        """The verdict of each machine."""
        return {label: value.verdict.word for label, value in self.found.items()}

    @property
    def holds(self) -> Holds:
        """Whether all machines have the same verdict, or two of them different ones."""
        words = set(self.words.values())
        if len(words - {UNDECIDED}) > 1:
            return "not everywhere"
        if UNDECIDED in words or len(self.found) < self.machines:
            return "undecided"
        return "everywhere"


def conclusions(machines: Mapping[str, StudyResults]) -> list[Conclusion]:
    """The ratios of throughput (in an open loop: of P99) at an N that is the headline of some
    machine, in the order of the first that has them. A machine with fewer cores may lack some.
    """
    every: dict[object, Conclusion] = {}
    shown = set()
    for label, results in machines.items():
        for compared in results.judged:
            for ratio in compared.ratios.where(keep=lambda each: each.measure in (THROUGHPUT, P99)):
                asked = _without_best(ratio)
                place = asked.question, asked.measure, asked.name, asked.of, asked.over
                new = Conclusion(compared.title, asked, {}, len(machines))
                every.setdefault(place, new).found[label] = ratio
                if ratio.of.workers == compared.headline_n:
                    shown.add(place)
    return [each for place, each in every.items() if place in shown]


def _without_best(ratio: Ratio) -> Ratio:
    if ratio.question not in BEST:
        return ratio
    model = ratio.over.model if ratio.question == "over processes" else ""
    return replace(ratio, over=ratio.over.but(arm="", model=model))
