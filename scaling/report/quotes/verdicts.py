"""The verdicts that a text quotes: on one ratio, and how many ratios of some studies have a word.

They are those of a study's comparison, as its tables and `comparison.csv` have them: corrected for
all hypotheses of the study. Of A/A pairs it is counted how many the studies have, and how many of
them differ.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np
import pandas as pd

from scaling.analysis.lookup.figure import figure
from scaling.analysis.lookup.named_cell import PLACE, changed, curve_of, named
from scaling.analysis.statistics.families import ERROR_RATE
from scaling.analysis.statistics.noise import COLUMNS, AAPair, NoiseFloor
from scaling.analysis.statistics.verdict import Word
from scaling.analysis.table.column import Noise
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.report.quotes.source import OVER, QuoteSource

type Ratios = pd.DataFrame  # rows of `scaling.report.tables.comparison_rows`

# What comparisons call the measures on which they have verdicts.
MEASURES = {
    "throughput_per_s": "throughput",
    "speedup": "throughput",
    "cpu_s_per_op": "cpu_s_per_op",
    "memory_mib": "memory",
    "latency_p99_s": "latency_p99_s",
}
# Counts of A/A pairs, before a measure: `pairs.throughput`. Those that differ by chance at 5 % are
# not called different, which takes a margin and a correction.
OF_PAIRS: dict[str, Callable[[AAPair, Noise], bool]] = {
    "pairs": lambda pair, measure: not math.isnan(pair.p_equal[measure]),
    "unequal": lambda pair, measure: pair.p_equal[measure] < ERROR_RATE,
    "different": lambda pair, measure: pair.ratios[measure].verdict.side != 0,
}
SHARED = ("workload", "parameters", "sizing")  # by both sides of a ratio
EQUAL = 1e-4  # as a share: one ratio, computed twice


def verdict(source: QuoteSource, journal: Journal, ratios: Ratios) -> str:
    """The word of the study's comparison for the ratio of a source.

    Raises:
        UsageError: no such ratio, or the comparison has no verdict on it, or several.
    """
    over = {"workers": 1} if source.measure == "speedup" else source.over
    if over is None:
        raise UsageError(f"a verdict is on a ratio: name what it is over, as in {OVER}workers=1")
    value = figure(journal, source.measure, source.cell, source.over).estimate.point
    sides = []
    for cell in (source.cell, changed(source.cell, over)):
        side = named(cell)
        curve = curve_of(journal, side)
        sides.append({name: curve[name].iloc[0] for name in PLACE} | {"workers": side.workers})
    of, divisor = sides
    words: list[str] = []
    if len(ratios) and all(of[name] == divisor[name] for name in SHARED):
        theirs = {f"over_{name}": value for name, value in divisor.items() if name not in SHARED}
        found = _with(_of_measure(ratios, source.measure), of | theirs)
        found = found[np.isclose(found["ratio"], value, rtol=EQUAL, atol=0)]
        words = sorted(
            {
                f"{word}, {why}" if source.form.is_in_words else word
                for word, why in zip(found["verdict"], found["why"], strict=True)
            }
        )
    if len(words) != 1:
        known = f"several verdicts on it ({', '.join(words)})" if words else "no verdict on it"
        raise UsageError(f"the study's comparison has {known}: quote the ratio alone")
    return words[0]


def count(source: QuoteSource, every: Sequence[Ratios]) -> int:
    """How many ratios have the fields of a source, among those of some studies.

    Raises:
        UsageError: there is no such verdict, or no ratio that has all other fields.
    """
    fields: dict[str, object] = {**source.only, **source.cell}
    fields |= {f"over_{name}": value for name, value in (source.over or {}).items()}
    word = fields.pop("verdict", None)
    if word is not None and word not in get_args(Word.__value__):
        raise unknown("verdict", str(word), get_args(Word.__value__))
    for name in ("parameters", *(f"over_{name}" for name in SHARED)):
        if name in fields:
            raise UsageError(f"ratios are counted without {name.replace('over_', OVER)}")
    known = [_with(_of_measure(ratios, source.measure), fields) for ratios in every if len(ratios)]
    if not any(map(len, known)):
        raise UsageError("no ratio has these fields")
    return sum(len(each if word is None else _with(each, {"verdict": word})) for each in known)


def count_pairs(counted: str, floors: Sequence[NoiseFloor]) -> int:
    """How many A/A pairs some studies have, or how many of them differ: `unequal.throughput`.

    Raises:
        UsageError: there is no such count, or no such measure.
    """
    what, _, name = counted.partition(".")
    if what not in OF_PAIRS:
        raise unknown("count of A/A pairs", what, OF_PAIRS)
    measure = next((each for each in COLUMNS if each == name), None)
    if measure is None:
        raise unknown("measure", name, COLUMNS, where=f"{what}.")
    holds = OF_PAIRS[what]
    return sum(holds(pair, measure) for floor in floors for pair in floor.pairs)


def _of_measure(ratios: Ratios, measure: str) -> Ratios:
    """The ratios of a measure; a step of the ladder, which has a name instead, is of throughput."""
    if measure not in MEASURES:
        raise unknown("measure with verdicts", measure, MEASURES)
    is_step = (ratios["question"] == "step") & ~ratios["measure"].isin(MEASURES.values())
    return ratios[ratios["measure"].mask(is_step, "throughput") == MEASURES[measure]]


def _with(ratios: Ratios, fields: Mapping[str, object]) -> Ratios:
    for name, value in fields.items():
        ratios = ratios[ratios[name] == value]
    return ratios
