"""The noise floor: how much two runs of the same cell in one block differ.

Every study has A/A pairs: some of its cells are run twice in every block. The ratio of the two,
paired inside blocks as every ratio is, would be 1 if there were no noise. The floor is how far from
1 its interval reaches, or its range where blocks are too few for an interval: a range is wider,
which errs on the safe side. Either run could be called the first, so r and 1/r are equally far from
1. A ratio stands beside the pairs most like it: P99 at a low rate says little about P99 at a high
one. Of several that are equally like it, the largest floor counts. Latencies that are lower bounds
are left out. A pair of fewer than `FEWEST_BLOCKS` may agree by luck: it can only raise the floor of
the others.

Plots, tables and pages show the floor. No verdict uses it: a ratio's own interval holds the same
noise, and adding it to the margin would count it twice. What the pairs decide is whether the
verdicts of a study can be trusted: each pair is judged by the rule of all verdicts, the pairs of a
measure as one family, and where one is called different, the study's verdicts on that measure are
withheld. Inside one study there are too few pairs to count such errors; over many studies the
p-values of `AAPair.p_equal` must be uniform
(tests/analysis/test_noise_floor_comes_from_aa_pairs.py).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.verdict import (
    COST,
    RATE,
    Direction,
    Margin,
    RatioVerdict,
    hypothesis,
    judge,
)
from scaling.analysis.table.column import Noise
from scaling.analysis.table.groups import (
    CELL,
    curve_cell,
    originals,
    p99_is_bound,
    require_one_study,
)
from scaling.analysis.table.latency import PERCENTILES
from scaling.journal.record import Cell, ParameterValue, StudyLine
from scaling.study.load import is_open_loop
from scaling.study.presets import MARGIN

COLUMNS: dict[Noise, str] = {
    "throughput": "throughput_per_s",
    "cpu_s_per_op": "cpu_s_per_op",
    "PSS": "pss_bytes",
    "RSS": "rss_bytes",
    "latency_p99_s": "latency_p99_s",
    "latency_p95_s": "latency_p95_s",
    "latency_p90_s": "latency_p90_s",
    "latency_p50_s": "latency_p50_s",
}

DIRECTIONS: dict[Noise, Direction] = {"throughput": RATE}  # all others are costs

FEWEST_BLOCKS = 4  # the range of so many ratios has the median inside with a chance of 7/8

LATENCIES = [name for name in COLUMNS.values() if name in PERCENTILES]  # the highest first

WORDS = {"cpu_s_per_op": "CPU time", **PERCENTILES}  # the others are called by their names

# The measures whose noise a derived figure has: at one N, speed-up varies as throughput does. The
# memory of a study's curves is either PSS or RSS.
ALIKE: dict[str, tuple[Noise, ...]] = {
    "speedup": ("throughput",),
    "efficiency": ("throughput",),
    "memory": ("PSS", "RSS"),
}


@dataclass(frozen=True, slots=True)
class AAPair:
    """An A/A pair: for each measure the second run of a cell over the first, paired inside blocks.

    The verdicts on `ratios` are those of the study's rule. `p_equal` is the chance of a ratio as
    far from 1 as this between equal cells, without a margin and without correction; NaN where
    nothing was tested.
    """

    cell: Cell
    ratios: dict[Noise, RatioVerdict]
    p_equal: dict[Noise, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`echo · asyncio · 3.14t · threads, N = 2`."""
        cell = self.cell
        return f"{cell.workload} · {cell.loop} · {cell.arm} · {cell.model}, N = {cell.workers}"

    def floor(self, measure: Noise, fewest: int = 1) -> float:
        """How far from 1 the ratio's interval (or range) reaches; NaN below `fewest` blocks."""
        ratio = self.ratios[measure]
        if ratio.n < fewest or ratio.low <= 0:
            return math.nan
        return max(ratio.high, 1 / ratio.low) - 1


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """A study's A/A pairs, in the order of its workloads; there may be none.

    `share` is the smallest difference that counts in the study.
    """

    pairs: tuple[AAPair, ...] = ()
    share: float = MARGIN

    def of(
        self,
        workload: str,
        measure: str = "throughput",
        parameters: Mapping[str, ParameterValue] | None = None,
    ) -> float:
        """The floor of a measure, such as 0.012 for 1.2 %; NaN without an A/A pair.

        It is that of the workload's pairs with these `parameters`; where none has the measure, that
        of its pairs in the same kind of loop, open or closed, then of all its pairs, then of all
        pairs of the study. Pairs of few blocks are passed over in
        that search, and one made among all of them counts where it finds a larger floor. `measure`
        is one of `COLUMNS`, or a figure that shares their noise: speedup, efficiency, memory.

        Raises:
            ValueError: no such measure.
        """
        measures = _alike(measure)
        own = [each for each in self.pairs if each.cell.workload == workload]
        of_kind, alike = [], []
        if parameters:
            kind = is_open_loop(parameters)
            of_kind = [each for each in own if is_open_loop(each.cell.parameters) == kind]
            alike = [each for each in of_kind if dict(each.cell.parameters) == dict(parameters)]
        nearest = (alike, of_kind, own, self.pairs)
        floors = [_floor(nearest, measures, fewest) for fewest in (1, FEWEST_BLOCKS)]
        return float(np.fmax.reduce(floors))

    def margin(self, measure: str = "throughput") -> Margin:
        """What a ratio of this measure must differ from 1 by, with the doubt that a pair raises.

        Raises:
            ValueError: no such measure.
        """
        return Margin(self.share, next(filter(None, map(self._doubt, _alike(measure))), ""))

    @property
    def withheld(self) -> list[str]:
        """On which measures verdicts are withheld, and why; mostly none."""
        doubts = {measure: self._doubt(measure) for measure in COLUMNS}
        return [
            f"No verdicts on {WORDS.get(measure, measure)}: {doubt}"
            for measure, doubt in doubts.items()
            if doubt
        ]

    def _doubt(self, measure: Noise) -> str:
        """That equal cells differ, if they do: the first pair of which that is proven."""
        for pair in self.pairs:
            verdict = pair.ratios[measure].verdict if measure in pair.ratios else None
            if verdict and verdict.side:
                return f"equal cells ({pair.name}) differ, {verdict.text}"
        return ""


def noise_floor(frame: pd.DataFrame, study: StudyLine) -> NoiseFloor:
    """The A/A pairs in a study's frame (of `scaling.load`); blocks in which either run is invalid
    are left out.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    same_place = [*CELL, "block"]
    figures = [*same_place, *COLUMNS.values()]
    is_valid = frame["valid"].to_numpy(np.bool_)
    valid = frame.loc[is_valid, [*figures, "twin"]]
    valid.loc[p99_is_bound(frame)[is_valid], LATENCIES] = np.nan
    valid = valid.drop_duplicates([*same_place, "twin"], keep="last")
    both = valid.loc[valid["twin"], figures].merge(
        originals(valid)[figures], on=same_place, suffixes=("_twin", ""), sort=False
    )
    share = float(study.study.get("margin") or MARGIN)
    cells = list(both.groupby(list(CELL), observed=True, sort=False))
    found = [
        AAPair(curve_cell(*key).but(workers=int(str(workers))), {})
        for (_, *key, workers), _ in cells
    ]
    for name, column in COLUMNS.items():
        ratios = [_ratios(runs, column) for _, runs in cells]
        judged = judge([hypothesis(each, share, DIRECTIONS.get(name, COST)) for each in ratios])
        for pair, verdict, each in zip(found, judged, ratios, strict=True):
            pair.ratios[name] = verdict
            pair.p_equal[name] = hypothesis(each, 0.0).p_differs
    order = {name: place for place, name in enumerate(study.workloads)}
    found.sort(key=lambda each: order.get(each.cell.workload, len(order)))
    return NoiseFloor(tuple(found), share)


def _alike(measure: str) -> tuple[Noise, ...]:
    """The measures whose noise a figure has.

    Raises:
        ValueError: no such measure.
    """
    found = ALIKE.get(measure) or tuple(name for name in COLUMNS if name == measure)
    if not found:
        raise ValueError(f"no noise is known of {measure!r}")
    return found


def _ratios(runs: pd.DataFrame, column: str) -> Floats:
    """Second over first run, shape (blocks,); NaN where either is not known or zero."""
    twin, cell = (runs[name].to_numpy(np.float64) for name in (f"{column}_twin", column))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = twin / cell
    return np.where(np.isfinite(ratio) & (ratio > 0), ratio, np.nan)


def _floor(nearest: Iterable[Sequence[AAPair]], measures: Sequence[Noise], fewest: int) -> float:
    """The largest floor of the first of these groups that has one."""
    for pairs in nearest:
        floors = (each.floor(measure, fewest) for each in pairs for measure in measures)
        if known := [floor for floor in floors if math.isfinite(floor)]:
            return max(known)
    return math.nan
