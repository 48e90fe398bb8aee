"""The noise floor: how much two runs of the same cell in one block differ.

Every study has A/A pairs: some of its cells are run twice in every block. The ratio of the two,
paired inside blocks as every ratio is, would be 1 if there were no noise. The floor is how far from
1 its interval reaches, or its range where blocks are too few for an interval: a range is wider,
which errs on the safe side. Either run could be called the first, so r and 1/r are equally far from
1. A ratio is judged by the pairs most like it: P99 at a low rate says little about P99 at a high
one. Of several that are equally like it, the largest floor counts. Latencies that are lower bounds
are left out. A pair of fewer than `FEWEST_BLOCKS` may agree by luck: it can only raise the floor of
the others. The pairs are of threads without the GIL where there are some
(`scaling.study.plan.aa_pairs`): what varies more, such as threads that contend for a GIL, has wider
intervals of its own.

A ratio within the floor is noise. A pair may agree by luck and give a floor that is too low, so the
margin is never below 2 %, the difference that code layout and the order of runs alone can make
(PITFALLS.md, 17 and 26).
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import Estimate, medians
from scaling.analysis.table.column import Noise
from scaling.analysis.table.groups import CELL, Key, originals, p99_is_bound, require_one_study
from scaling.analysis.validity import MARGIN
from scaling.journal.record import StudyLine
from scaling.study.load import is_open_loop

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

FEWEST_BLOCKS = 4  # the range of so many ratios has the median inside with a chance of 7/8

LATENCIES = [name for name in COLUMNS.values() if name.startswith("latency")]

# The measures whose noise a derived figure has: at one N, speed-up varies as throughput does. A
# curve's memory is either PSS or RSS.
ALIKE: dict[str, tuple[Noise, ...]] = {
    "speedup": ("throughput",),
    "efficiency": ("throughput",),
    "memory": ("PSS", "RSS"),
}


@dataclass(frozen=True, slots=True)
class AAPair:
    """An A/A pair: for each measure the second run over the first, paired inside blocks."""

    key: Key
    workers: int
    ratios: dict[Noise, Estimate]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of both cells."""
        return _read(self.key.parameters)

    def floor(self, measure: Noise, fewest: int = 1) -> float:
        """How far from 1 the ratio's interval (or range) reaches; NaN below `fewest` blocks."""
        ratio = self.ratios[measure]
        if ratio.n < fewest or ratio.low <= 0:
            return math.nan
        return max(ratio.high, 1 / ratio.low) - 1


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """A study's A/A pairs, in the order of its workloads; there may be none."""

    pairs: tuple[AAPair, ...] = ()

    def of(self, workload: str, measure: str = "throughput", parameters: str = "") -> float:
        """The floor of a measure, such as 0.012 for 1.2 %; NaN without an A/A pair.

        It is that of the workload's pairs with these `parameters` (JSON, as a frame has them);
        where none has the measure, that of its pairs in the same kind of loop, open or closed, then
        of all its pairs, then of all pairs of the study. Pairs of few blocks are passed over in
        that search, and one made among all of them counts where it finds a larger floor. `measure`
        is one of `COLUMNS`, or a figure that shares their noise: speedup, efficiency, memory.

        Raises:
            ValueError: no such measure.
        """
        if measure not in ALIKE and measure not in COLUMNS:
            raise ValueError(f"no noise is known of {measure!r}")
        measures = ALIKE.get(measure) or tuple(name for name in COLUMNS if name == measure)
        own = [each for each in self.pairs if each.key.workload == workload]
        of_kind, alike = [], []
        if parameters:
            wanted = _read(parameters)
            kind = is_open_loop(wanted)
            of_kind = [each for each in own if is_open_loop(each.parameters) == kind]
            alike = [each for each in of_kind if each.parameters == wanted]
        nearest = (alike, of_kind, own, self.pairs)
        floors = [_floor(nearest, measures, fewest) for fewest in (1, FEWEST_BLOCKS)]
        return float(np.fmax.reduce(floors))

    def margin(self, workload: str, measure: str = "throughput", parameters: str = "") -> float:
        """What a ratio must differ from 1 by: the floor, and 2 % at least."""
        floor = self.of(workload, measure, parameters)
        return MARGIN if math.isnan(floor) else max(MARGIN, floor)


NO_PAIRS = NoiseFloor()


def noise_floor(frame: pd.DataFrame, study: StudyLine) -> NoiseFloor:
    """The A/A pairs in a study's frame (of `scaling.load`); blocks in which either run is invalid
    are left out.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    same_place = [*CELL, "block"]
    figures = [*same_place, *COLUMNS.values()]
    runs = frame[frame["valid"]]
    valid = runs[[*figures, "twin"]].copy()
    valid.loc[p99_is_bound(runs), LATENCIES] = np.nan
    valid = valid.drop_duplicates([*same_place, "twin"], keep="last")
    both = valid.loc[valid["twin"], figures].merge(
        originals(valid)[figures], on=same_place, suffixes=("_twin", ""), sort=False
    )
    found = []
    for names, runs in both.groupby(list(CELL), observed=True, sort=False):
        *key, workers = map(str, names)
        ratios = np.column_stack([_ratios(runs, column) for column in COLUMNS.values()])
        estimates = dict(zip(COLUMNS, medians(ratios, "×"), strict=True))
        found.append(AAPair(Key(*key), int(workers), estimates))
    order = {name: place for place, name in enumerate(study.workloads)}
    return NoiseFloor(
        tuple(sorted(found, key=lambda each: order.get(each.key.workload, len(order))))
    )


def _ratios(runs: pd.DataFrame, column: str) -> Floats:
    """Second over first run, shape (blocks,); NaN where either is not known or zero."""
    twin, cell = (runs[name].to_numpy(np.float64) for name in (f"{column}_twin", column))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = twin / cell
    return np.where(np.isfinite(ratio) & (ratio > 0), ratio, np.nan)


@lru_cache(maxsize=256)  # every ratio of a study asks for those of its section
def _read(parameters: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(parameters)
    return found


def _floor(nearest: Iterable[Sequence[AAPair]], measures: Sequence[Noise], fewest: int) -> float:
    """The largest floor of the first of these groups that has one."""
    for pairs in nearest:
        floors = (each.floor(measure, fewest) for each in pairs for measure in measures)
        if known := [floor for floor in floors if math.isfinite(floor)]:
            return max(known)
    return math.nan
