"""The table of ratios: a row per question, measure and pair of cells, with its word.

What is compared is asked by `scaling.study.questions`; the second run of an A/A pair over the first
is asked here, like any other ratio. Each measure is handled at once: the ratios of all its pairs
are an array of blocks × pairs, and everything after that is arithmetic on columns.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.statistics.intervals import (
    in_two_states,
    lower,
    medians,
    ratio_medians,
    scatter,
)
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.latency import LATENCY_PREFIX
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.pairs import factors, pairs_of
from scaling.analysis.tables.scope import MeasuredScope
from scaling.analysis.tables.turns import why_apart
from scaling.analysis.tables.values import Measure, Values
from scaling.analysis.tables.words import (
    FARTHEST,
    NO_WORD,
    OPEN,
    Scale,
    at_most_percent,
    blocks_to_decide,
    is_proven,
    said,
    scale_of,
    words,
)
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN
from scaling.study.questions import (
    CAPACITY,
    CPU,
    MEMORY,
    P99,
    THROUGHPUT,
    Asked,
    every_ratio,
)

EQUAL_CELLS, GAIN = "equal cells", "gain"
NOISE = (THROUGHPUT, CPU, MEMORY, P99)  # what A/A pairs are compared by
LEVEL_OF_SEVERAL, FEWEST_OF_SEVERAL = 0.975, 8  # where the best of several candidates is chosen

# Reasons why a ratio has no word.
FEW, STATES, BOUND, EQUAL_DIFFER = (
    "too few blocks",
    "two states",
    "only a bound is known",
    "equal cells differ",
)
ABOUT = (
    "name",
    "subject",
    "workload",
    "parameters",
    "sizing",
    "loop",
    "arm",
    "model",
    "workers",
    "region",
)
OF_CELL = ("rate", "control", "twin", "cell")
OF_OTHER = ("name", "loop", "arm", "model", "workers")


class Ends(NamedTuple):
    """The ratios of some pairs, shape (blocks, pairs): as figures, and turned so that more is
    better as logarithms, the least and the most that each can be.
    """

    ratio: Floats
    low: Floats
    high: Floats
    bound: Integers


def ratios(values: Values, scope: MeasuredScope, margin: float = MARGIN) -> pd.DataFrame:
    """Every ratio of a study that has a value in any block, question by question.

    Columns: `question`, `measure`, `step` (what changes in a step of the ladder); `of` and `over`,
    the places of the two cells; what they are (`ABOUT`, `OF_CELL`; with `over_` `OF_OTHER`);
    `headline` and `main` (a headline of the same question and cell); `ratio`, `low`, `high` (95 %;
    the range below six blocks), `n`, `bound` (1 where the median is a lower bound, -1 an upper
    one); `word`, `at_most_percent`, `why` there is none, and `said`, all of it in words;
    `blocks_to_decide` one that is open; `candidates`, and `beside`, what is wrong with those that
    were not chosen; `why_not_in_turn`, empty where the two were measured in turn; `memory_kind`.
    """
    found = _of_pairs(values, pairs_of([*every_ratio(scope), *_equal_cells(values)], scope), margin)
    if found.empty:
        return found
    split = _of_pairs(values, factors(found, values.table), margin)
    found = _withheld(pd.concat([found, split], ignore_index=True), values.table)
    found.loc[found["question"] == GAIN, ["word", "why"]] = NO_WORD  # a factor, and a share of N
    found["said"] = [said(row, scale_of(str(row["measure"]), margin)) for row in _records(found)]
    found["why_not_in_turn"] = why_apart(values, found["of"], found["over"])
    kinds = memory_kinds(values)[found["of"]].to_numpy()
    found["memory_kind"] = np.where(found["measure"] == MEMORY, kinds, "")
    found["main"] = found.groupby(["question", "of"])["headline"].transform("any")
    about = values.table[[*ABOUT, *OF_CELL]]
    other = values.table[list(OF_OTHER)].add_prefix("over_")
    return found.join(about, on="of").join(other, on="over")


def _of_pairs(values: Values, pairs: pd.DataFrame, margin: float) -> pd.DataFrame:
    """The ratios of some pairs, measure by measure, in the order in which they were asked for."""
    parts = [
        of_measure(values, str(name), part.reset_index(drop=True), margin)
        for name, part in pairs.groupby("measure", sort=False)
    ]
    if not parts:
        return pd.DataFrame()
    return pd.concat(parts).sort_values("asked", ignore_index=True)


def _records(found: pd.DataFrame) -> list[dict[str, object]]:
    names = ["measure", "word", "why", "low_90", "high_90", "low_95", "high_95"]
    return [{str(k): v for k, v in row.items()} for row in found[names].to_dict("records")]


def _equal_cells(values: Values) -> Iterator[Asked]:
    """The second run of each A/A pair over the first."""
    for twin in values.table.loc[values.table["twin"], "cell"]:
        for measure in NOISE:
            yield Asked(EQUAL_CELLS, measure, twin, (twin.but(twin=False),))


def of_measure(
    values: Values, name: str, pairs: pd.DataFrame, margin: float = MARGIN
) -> pd.DataFrame:
    """The ratios of one measure: of the candidates of each the best, with the word."""
    measure, scale = values[name], scale_of(name, margin)
    ends = _ends(measure, scale, pairs)
    pairs = _with_intervals(pairs, ends, scale)
    best = _best(measure, name, scale, pairs)
    found = pairs.loc[best].set_index("asked")
    found["candidates"] = pairs.groupby("asked").size()
    found["beside"] = _beside(pairs[~pairs.index.isin(best)], values).reindex(
        found.index, fill_value=""
    )
    found["high_sure"] = _high_sure(ends.high[:, best], found)
    found = _with_words(found, scale)
    found["ratio"], found["low"], found["high"], found["n"] = ratio_medians(ends.ratio[:, best])
    side = Measure(ends.ratio[:, best], ends.bound[:, best], ends.low, ends.high).side
    found["bound"] = side
    found["blocks_to_decide"] = np.where(
        (found["word"] == OPEN) | (found["why"] == FEW),
        blocks_to_decide(found["middle"].to_numpy(), found["scatter"].to_numpy(), scale),
        np.nan,
    )
    return found[found["n"] > 0].drop(columns=["along", "apart_from", "usable"]).reset_index()


def _ends(measure: Measure, scale: Scale, pairs: pd.DataFrame) -> Ends:
    """The ratios of all pairs, without the blocks in which a cell `along` has no value."""
    ratio = measure.over(pairs["of"].to_numpy(), pairs["over"].to_numpy())
    known = np.ones(ratio.value.shape, np.bool_)
    for at, along in enumerate(pairs["along"]):
        if along:
            known[:, at] = np.isfinite(measure.value[:, list(along)]).all(axis=1)
    known &= np.isfinite(ratio.value)
    apart = _apart(measure, pairs)
    figures = np.where(known, ratio.value / apart, np.nan)
    ends = (ratio.least / apart, ratio.most / apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.log(np.where(known, end, np.nan)) for end in ends)
    low, high = (np.clip(end, -FARTHEST, FARTHEST) for end in (low, high))
    if scale.sign < 0:
        low, high = -high, -low
    return Ends(figures, low, high, ratio.bound)


def _apart(measure: Measure, pairs: pd.DataFrame) -> Floats:
    """What is divided out of each ratio, shape (blocks, pairs): 1 for most."""
    found = np.ones((len(measure.value), len(pairs)))
    for at, apart in enumerate(pairs["apart_from"]):
        if apart:
            one, other = apart
            found[:, at] = measure.value[:, one] / measure.value[:, other]
    return found


def _with_intervals(pairs: pd.DataFrame, ends: Ends, scale: Scale) -> pd.DataFrame:
    """The pairs with the ends of their intervals: `low_90` to `high_95`.

    They are infinite where there is no interval: of too few blocks, or of two states.
    """
    known = np.isfinite(ends.ratio).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ends.ratio)
    states = in_two_states(logs, float(np.log1p(scale.tiers[0])))
    usable = (known >= FEWEST_FOR_INTERVAL) & ~states
    middle = scale.sign * medians(logs).point
    found = pairs.assign(known=known, states=states, usable=usable, middle=middle)
    found["scatter"] = scatter(logs)
    for level in (90, 95):
        low, high = lower(ends.low, level / 100), -lower(-ends.high, level / 100)
        found[f"low_{level}"] = np.where(usable, low, -np.inf)
        found[f"high_{level}"] = np.where(usable, high, np.inf)
    return found


def _best(measure: Measure, name: str, scale: Scale, pairs: pd.DataFrame) -> Integers:
    """The place of the best candidate of each ratio: the one whose median is best.

    Of latencies it is the one that is least often a lower bound, and among these the lowest.
    """
    known = np.isfinite(measure.value).any(axis=0)
    middle = np.full(len(known), np.inf)
    middle[known] = -scale.sign * np.nanmedian(measure.value[:, known], axis=0)
    over = pairs["over"].to_numpy()
    order = pd.DataFrame(
        {"asked": pairs["asked"], "first": middle[over], "then": -measure.side[over]}
    )
    if name.startswith(LATENCY_PREFIX):
        order["first"], order["then"] = measure.bound.mean(axis=0)[over], middle[over]
    ranked = order.sort_values(["asked", "first", "then"], kind="stable")
    return np.sort(ranked.drop_duplicates("asked").index.to_numpy())


def _beside(others: pd.DataFrame, values: Values) -> "pd.Series[str]":
    """What is wrong with candidates that were not chosen, by the number of the question."""
    wrong = others[others["states"] | (others["known"] < FEWEST_FOR_INTERVAL)]
    models, arms = (values.table[name].astype(str) for name in ("model", "arm"))
    texts = [
        f"{models[over]} on {arms[over]}: {STATES if states else FEW}"
        for over, states in zip(wrong["over"], wrong["states"], strict=True)
    ]
    found = pd.Series(texts, index=wrong["asked"], dtype=object)
    return found.groupby(level=0, sort=False).agg("; ".join)


def _high_sure(high: Floats, found: pd.DataFrame) -> Floats:
    """The upper end that `worse` rests on: a wider one where the best of several was chosen."""
    several = (found["candidates"] > 1) & (found["known"] >= FEWEST_OF_SEVERAL)
    return np.where(several & found["usable"], -lower(-high, LEVEL_OF_SEVERAL), found["high_95"])


def _with_words(found: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """The ratios with `word`, `why` there is none, and the bound."""
    word = words(found, scale)
    no_end = (found["low_90"] <= -FARTHEST) & (found["high_90"] >= FARTHEST)
    one_end = (found["low_90"] <= -FARTHEST) | (found["high_90"] >= FARTHEST)
    is_bound = (word == OPEN) & one_end | no_end
    few = [f"{FEW} ({n} of {FEWEST_FOR_INTERVAL})" for n in found["known"]]
    why = np.select(
        [found["known"] < FEWEST_FOR_INTERVAL, found["states"], is_bound], [few, STATES, BOUND], ""
    )
    bound = at_most_percent(found["low_90"].to_numpy(), scale)
    is_known = (found["low_90"] > -FARTHEST) & (why == "")
    return found.assign(
        word=np.where(why == "", word, NO_WORD),
        why=why,
        at_most_percent=np.where(is_known, bound, np.nan),
    )


def _withheld(found: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """No word on a measure of a workload with some parameters whose equal cells differ in it."""
    where = table.loc[found["of"], ["workload", "parameters"]].astype(str).agg(" ".join, axis=1)
    about = where.to_numpy() + found["measure"].map(noise_of)
    equal = found["question"] == EQUAL_CELLS
    differ = equal & found["word"].map(is_proven)
    doubted = about.isin(about[differ]) & ~equal & (found["why"] == "")
    found.loc[doubted, "word"], found.loc[doubted, "why"] = NO_WORD, EQUAL_DIFFER
    return found


def noise_of(measure: str) -> str:
    """The measure of A/A pairs that shows how much another one scatters.

    Capacity is nearly in inverse proportion to the CPU time of a request.
    """
    if measure.startswith(CAPACITY.format("")):
        return CPU
    column = MEASURES.get(measure)
    noise = column.noise if column else measure
    return {"throughput": THROUGHPUT, "cpu_s_per_op": CPU}.get(noise, noise)
