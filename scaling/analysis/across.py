"""The same cells in two studies: yesterday's and today's, side by side.

Their runs were not made in the same blocks, so nothing pairs them, and what changed besides the
thing in question is told with the figures.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from scaling.analysis import unpaired
from scaling.analysis.curves import Curve, Key, Point
from scaling.analysis.estimate import Estimate
from scaling.analysis.sections import Section, sections
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import StudyLine

type Study = tuple[pd.DataFrame, StudyLine]

# What a study may be asked differently without any cell of it being measured differently.
HARMLESS = frozenset({"name", "preset", "blocks", "seed", "arms", "workloads", "workers"})


@dataclass(frozen=True, slots=True)
class Change:
    """One cell, `then` and `now`; ratios are now over then, unpaired."""

    section: Section
    key: Key
    workers: int
    then: Estimate
    now: Estimate
    throughput: Estimate
    memory: Estimate


@dataclass(frozen=True, slots=True)
class Across:
    """Two studies: the cells they share, how many they do not, and what else is not the same."""

    changes: list[Change]
    only_then: int
    only_now: int
    differences: tuple[str, ...]


def across(then: Study, now: Study) -> Across:
    """Hold one study against an earlier one, in the later one's order."""
    before = {_cell(each): each for each in _cells(then)}
    after = {_cell(each): each for each in _cells(now)}
    changes = [
        _change(before[cell], here)
        for cell, here in after.items()
        if cell in before and before[cell][2].throughput.n and here[2].throughput.n
    ]
    differences = _asked(now[1]).differences(_asked(then[1]))
    return Across(
        changes,
        sum(cell not in after for cell in before),
        sum(cell not in before for cell in after),
        differences,
    )


def _asked(study: StudyLine) -> Identity:
    same = identity_of(study)
    asked = {name: value for name, value in same.study.items() if name not in HARMLESS}
    return replace(same, study=asked)


type Place = tuple[Section, Curve, Point]


def _cells(study: Study) -> Iterator[Place]:
    for section in sections(*study):
        for curve in section.curves:
            for point in curve.points:
                yield section, curve, point


def _cell(place: Place) -> tuple[Key, int]:
    _, curve, point = place
    return replace(curve.key, study=""), point.workers


def _change(then: Place, now: Place) -> Change:
    section, curve, point = now
    _, curve_then, point_then = then

    def ratio(what: str) -> Estimate:
        ours = curve.values[what][:, curve.workers.index(point.workers)]
        theirs = curve_then.values[what][:, curve_then.workers.index(point.workers)]
        return unpaired.ratio(ours, theirs)

    return Change(
        section,
        curve.key,
        point.workers,
        then=point_then.throughput,
        now=point.throughput,
        throughput=ratio("throughput"),
        memory=ratio("memory"),
    )
