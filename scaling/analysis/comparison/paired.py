"""The values of one section and loop as block × (arm, model, N): the basis of every ratio.

Two configurations are compared inside a block, between runs made close together; the median is
taken of those ratios, never a ratio of medians. Invalid runs have no value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.memory import MIB
from scaling.analysis.curves.sections import Section, sections
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.families import Family
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.table.column import NUMBER
from scaling.analysis.table.groups import p99_is_bound, require_one_study
from scaling.analysis.table.time_terms import TIME_TERMS
from scaling.base.vocabulary import PRIMARY_QUESTIONS
from scaling.journal.record import StudyLine

type Measure = Literal[
    "throughput", "cpu_s_per_op", "PSS", "RSS", "latency_p99_s", "p99_or_bound_s"
]

SUBJECT = ["workload", "parameters", "sizing", "loop"]
CONFIGURATION = ["arm", "model", "workers"]
TIME_COLUMNS = [name for name, column in TIME_TERMS.items() if column.dtype == NUMBER]


class Configuration(NamedTuple):
    """One way to run a section's work: on which arm, under which model, with N workers.

    `loop` is empty except where loops are compared (`scaling.analysis.comparison.loops`).
    """

    arm: str
    model: str
    workers: int
    loop: str = ""


@dataclass(frozen=True, slots=True)
class Paired:
    """The runs of one section on one loop.

    `values` are arrays (blocks × configurations), NaN for no value: throughput in operations/s, CPU
    time in s per operation, memory (PSS and RSS) in MiB, P99 of latency in s: `latency_p99_s` has
    none of runs whose server fell behind or declined requests, `p99_or_bound_s` their lower bounds.
    `columns` has the place of each configuration, `blocks` the block of each row, ascending;
    `curves` are the same runs as curves, in the section's order. `floor` is the noise floor of the
    study. `loop` is empty where it is all of the section's loops
    (`scaling.analysis.comparison.loops`). `primary` are the questions that the study names as its
    primary ones. `time_terms` are the workers' time per operation by column
    (`scaling.analysis.table.time_terms`), in s, and `waits` the share of their samples by the call
    that they waited in, both shaped as `values` are.
    """

    section: Section
    loop: str
    curves: list[Curve]
    columns: dict[Configuration, int]
    values: dict[Measure, Floats]
    blocks: Integers
    floor: NoiseFloor
    primary: Sequence[str] = PRIMARY_QUESTIONS
    time_terms: Mapping[str, Floats] = field(default_factory=dict)
    waits: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is about: workload, sizing and loop."""
        return f"{self.section.title} · {self.loop}" if self.loop else self.section.title

    @property
    def arms(self) -> list[str]:
        """The arms, in the study's order."""
        return list(dict.fromkeys(curve.key.arm for curve in self.curves))

    @property
    def models(self) -> list[str]:
        """The models, in the section's order."""
        return list(dict.fromkeys(curve.key.model for curve in self.curves))

    @property
    def workers(self) -> list[int]:
        """Every N that has a run, ascending."""
        return sorted({n for curve in self.curves for n in curve.workers})

    @property
    def headline_n(self) -> int:
        """The headline N: the largest with a core for each worker."""
        points = [point for curve in self.curves for point in curve.points]
        on_cores = [point.workers for point in points if point.region == "cores"]
        return max(on_cores, default=max(self.workers))

    def of(self, configuration: Configuration, measure: Measure) -> Floats:
        """The values of a configuration, shape (blocks,); all NaN where it was not measured."""
        table = self.values[measure]
        if configuration not in self.columns:
            return np.full(len(table), np.nan)
        return table[:, self.columns[configuration]]

    def estimate(self, configuration: Configuration, measure: Measure, unit: str) -> Estimate:
        """The median of a configuration's values."""
        return median(self.of(configuration, measure), unit)

    def ratios(self, over: Configuration, under: Configuration, measure: Measure) -> Floats:
        """One configuration's values over another's, block by block, shape (blocks,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.of(over, measure) / self.of(under, measure)
        return np.where(np.isfinite(ratio), ratio, np.nan)

    def margin(self, measure: Measure) -> float:
        """What a ratio of that measure must differ from 1 by."""
        key = self.curves[0].key
        return self.floor.margin(key.workload, measure, key.parameters)

    def family(self, question: str, *, is_headline: bool) -> Family:
        """The family of a ratio: primary if it is a headline one of a primary question."""
        return "primary" if is_headline and question in self.primary else "exploratory"

    def measured(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Those of them that have a valid run."""
        return [
            configuration
            for configuration in configurations
            if np.isfinite(self.of(configuration, "throughput")).any()
        ]

    def fastest(self, configurations: Iterable[Configuration]) -> Configuration | None:
        """The one with the highest median throughput; None where none was measured."""

        def speed(configuration: Configuration) -> float:
            return float(np.nanmedian(self.of(configuration, "throughput")))

        return max(self.measured(configurations), key=speed, default=None)

    def memory_kind(self, over: Configuration, under: Configuration) -> Measure:
        """PSS, or RSS where either of two configurations has no PSS."""
        return "PSS" if np.isfinite(self.ratios(over, under, "PSS")).any() else "RSS"

    def point(self, configuration: Configuration) -> Point | None:
        """A configuration's point on its curve; None where it was not run."""
        whose = configuration.arm, configuration.model, configuration.loop or self.loop
        points = (
            point
            for curve in self.curves
            if (curve.key.arm, curve.key.model, curve.key.loop) == whose
            for point in curve.points
        )
        return next((point for point in points if point.workers == configuration.workers), None)


def paired(frame: pd.DataFrame, study: StudyLine) -> list[Paired]:
    """The runs of one study, for each of its sections and loops, in the sections' order.

    Raises:
        UsageError: the frame holds several studies.
    """
    return pair(frame, study, sections(frame, study), noise_floor(frame, study))


def pair(
    frame: pd.DataFrame, study: StudyLine, of: Iterable[Section], floor: NoiseFloor
) -> list[Paired]:
    """The same where the study's sections and noise floor are known.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    every = frame[[*SUBJECT, *CONFIGURATION, "block"]].set_axis(np.arange(len(frame)))
    chosen = (frame["valid"] & ~frame["twin"]).to_numpy(np.bool_)
    used = every[chosen].drop_duplicates(keep="last")
    groups = {
        tuple(map(str, names)): runs
        for names, runs in used.groupby(SUBJECT, observed=True, sort=False)
    }
    figures = _figures(frame)
    found = []
    for section in of:
        for loop in dict.fromkeys(curve.key.loop for curve in section.curves):
            members = [curve for curve in section.curves if curve.key.loop == loop]
            key = members[0].key
            runs = groups.get((key.workload, key.parameters, key.sizing, loop), used[:0])
            found.append(_paired(section, loop, members, runs, figures, floor))
    named = tuple(study.study.get("primary") or PRIMARY_QUESTIONS)
    return [replace(each, primary=named) for each in found]


class _Figures(NamedTuple):
    """What is compared, of every run of a frame: arrays of shape (runs,), and dicts of samples."""

    values: dict[Measure, Floats]
    time_terms: dict[str, Floats]
    waits: list[dict[str, float]]


def _figures(frame: pd.DataFrame) -> _Figures:
    p99_s = frame["latency_p99_s"].to_numpy(np.float64)
    return _Figures(
        values={
            "throughput": frame["throughput_per_s"].to_numpy(np.float64),
            "cpu_s_per_op": frame["cpu_s_per_op"].to_numpy(np.float64),
            "PSS": frame["pss_bytes"].to_numpy(np.float64) / MIB,
            "RSS": frame["rss_bytes"].to_numpy(np.float64) / MIB,
            "p99_or_bound_s": p99_s,
            "latency_p99_s": np.where(p99_is_bound(frame), np.nan, p99_s),
        },
        time_terms={name: frame[name].to_numpy(np.float64) for name in TIME_COLUMNS},
        waits=frame["waits"].to_list(),
    )


def _paired(
    section: Section,
    loop: str,
    members: list[Curve],
    runs: pd.DataFrame,
    figures: _Figures,
    floor: NoiseFloor,
) -> Paired:
    """`runs` are those with a value; their index is their place among the `figures`."""
    configurations = runs[CONFIGURATION].drop_duplicates()
    columns = {
        Configuration(str(arm), str(model), int(workers)): place
        for place, (arm, model, workers) in enumerate(
            configurations.itertuples(index=False, name=None)
        )
    }
    column = runs.groupby(CONFIGURATION, observed=True, sort=False).ngroup().to_numpy()
    blocks, row = np.unique(runs["block"].to_numpy(), return_inverse=True)
    places = runs.index.to_numpy()

    def table(values: Floats) -> Floats:
        grid = np.full((len(blocks), len(columns)), np.nan)
        grid[row, column] = values
        return grid

    values = {measure: table(every[places]) for measure, every in figures.values.items()}
    terms = {name: table(every[places]) for name, every in figures.time_terms.items()}
    samples = [figures.waits[place] for place in places]
    calls = dict.fromkeys(name for each in samples for name in each)
    waits = {name: table(np.array([each.get(name, 0.0) for each in samples])) for name in calls}
    return Paired(
        section, loop, members, columns, values, blocks, floor, time_terms=terms, waits=waits
    )
