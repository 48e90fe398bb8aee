"""The same cells in two studies: yesterday's and today's, side by side.

Their runs were not made in the same blocks, so nothing pairs them, and whatever else changed is
shown beside the figures. In an open loop throughput is the schedule's, and P99 is compared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.sections import Section, sections
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.statistics.verdict import (
    COST,
    LATENCY,
    RATE,
    Direction,
    Hypothesis,
    RatioVerdict,
    judge,
    unpaired_hypothesis,
    wider,
)
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import Cell, StudyLine

MS_PER_S = 1e3

type Study = tuple[pd.DataFrame, StudyLine]

# Options that may differ between two studies without any cell being measured differently. With
# strong sizing the largest N of a workload is not one of them: it decides what is in flight.
HARMLESS = frozenset(
    {"name", "preset", "blocks", "seed", "arms", "workloads", "models", "loops", "sizing", "margin"}
    | {"workers", "aa_pairs"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """One cell, `then` and `now`; ratios are now over then, unpaired.

    `ratio` is of the `measure`; runs of which P99 is only a lower bound have no value. `memory` is
    blank where one study has PSS and the other RSS, as `memory_kinds` says. All verdicts on two
    studies are exploratory; their margin is the wider one of the two studies.
    """

    section: Section
    curve: Curve
    then: Point
    now: Point
    measure: Literal["throughput", "latency_p99_s"]
    ratio: RatioVerdict
    memory: RatioVerdict
    memory_kinds: tuple[str, str]

    @property
    def workers(self) -> int:
        """N, the same in both."""
        return self.now.workers

    @property
    def values(self) -> tuple[Estimate, Estimate]:
        """What the ratio is of, then and now: operations/s, or P99 in ms."""
        if self.measure == "throughput":
            return self.then.throughput, self.now.throughput
        then, now = (point.figures[self.measure] for point in (self.then, self.now))
        return then.scaled(MS_PER_S, "ms"), now.scaled(MS_PER_S, "ms")

    @property
    def name(self) -> str:
        """Section, curve and N."""
        return _name(self.section, self.curve, self.now)

    @property
    def is_across_states(self) -> bool:
        """Whether the runs of the two were in different allocator states."""
        states = {self.then.allocator_state, self.now.allocator_state}
        return len(states - {None}) > 1


@dataclass(frozen=True, slots=True)
class Across:
    """Two studies: the cells they share, how many they do not, and what else differs.

    `invalid_then` and `invalid_now` name the cells of both in which one has no valid run.
    """

    then: Study
    now: Study
    changes: list[Change]
    only_then: int
    only_now: int
    invalid_then: tuple[str, ...]
    invalid_now: tuple[str, ...]
    differences: tuple[str, ...]

    @property
    def is_backwards(self) -> bool:
        """Whether the study called the earlier one was begun after the other."""
        began = [study.started_at for _, study in (self.then, self.now)]
        return None not in began and began != sorted(map(str, began))


def across(then: Study, now: Study) -> Across:
    """Compare a study with an earlier one, in the later one's order."""
    before = {_cell(each): each for each in _cells(then)}
    after = {_cell(each): each for each in _cells(now)}
    both = [(before[cell], here) for cell, here in after.items() if cell in before]
    measured = [(was, here) for was, here in both if _is_measured(was) and _is_measured(here)]
    floors = [noise_floor(*study) for study in (then, now)]
    return Across(
        then,
        now,
        _changes(measured, floors),
        only_then=sum(cell not in after for cell in before),
        only_now=sum(cell not in before for cell in after),
        invalid_then=tuple(_name(*here) for was, here in both if not _is_measured(was)),
        invalid_now=tuple(_name(*here) for _, here in both if not _is_measured(here)),
        differences=_comparable(now[1]).differences(_comparable(then[1])),
    )


def _comparable(study: StudyLine) -> Identity:
    same = identity_of(study)
    options = {name: value for name, value in same.study.items() if name not in HARMLESS}
    if largest := _dealt_out_over(same.study):
        options["workers"] = largest
    return replace(same, study=options)


def _dealt_out_over(study: Mapping[str, Any]) -> dict[str, int]:
    """The largest N of each workload that has strong sizing, as a settled study names them."""
    entries = study.get("workloads") or []
    strong = {entry["name"] for entry in entries if "strong" in (entry.get("sizing") or ())}
    largest: dict[str, int] = {}
    for entry in entries:
        if (name := entry["name"]) in strong:
            largest[name] = max([largest.get(name, 1), *(entry.get("workers") or ())])
    return largest


type Place = tuple[Section, Curve, Point]


def _cells(study: Study) -> Iterator[Place]:
    for section in sections(*study):
        for curve in section.curves:
            for point in curve.points:
                yield section, curve, point


def _cell(place: Place) -> Cell:
    _, curve, point = place
    return curve.key.but(workers=point.workers)


def _is_measured(place: Place) -> bool:
    return place[2].throughput.n > 0


def _name(section: Section, curve: Curve, point: Point) -> str:
    key = curve.key
    who = f"{key.loop} · {key.arm} · {key.model}"
    return f"{section.label} · {key.sizing} · {who} · N = {point.workers}"


def _changes(both: list[tuple[Place, Place]], floors: list[NoiseFloor]) -> list[Change]:
    tested = [each for then, now in both for each in _hypotheses(then, now, floors)]
    verdicts = iter(judge(tested))
    return [
        Change(
            section=now[0],
            curve=now[1],
            then=then[2],
            now=now[2],
            measure=_measure(now[0]),
            ratio=next(verdicts),
            memory=next(verdicts),
            memory_kinds=(then[1].memory_kind, now[1].memory_kind),
        )
        for then, now in both
    ]


def _hypotheses(then: Place, now: Place, floors: list[NoiseFloor]) -> Iterator[Hypothesis]:
    """Throughput (P99 in an open loop), and memory if both studies have the same kind."""
    pace = _measure(now[0])
    directions: dict[str, Direction] = {
        pace: RATE if pace == "throughput" else LATENCY,
        "memory": COST,
    }
    for measure, direction in directions.items():
        alike = measure != "memory" or then[1].memory_kind == now[1].memory_kind
        ours, theirs = (_runs(place, measure, alike) for place in (now, then))
        margin = wider(floor.margin(measure) for floor in floors)
        yield unpaired_hypothesis(ours, theirs, margin, direction, "exploratory")


def _runs(place: Place, measure: str, alike: bool) -> Floats:
    """The values of a cell's runs, shape (blocks,); none where they cannot be compared."""
    _, curve, point = place
    return curve.runs(measure, point.workers) if alike else np.empty(0)


def _measure(section: Section) -> Literal["throughput", "latency_p99_s"]:
    return "throughput" if section.rate_per_s is None else "latency_p99_s"
