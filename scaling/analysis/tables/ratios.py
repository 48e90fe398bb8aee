"""The table of ratios: a row per question, measure and pair of cells, with its word.

What is compared is asked by `scaling.study.questions`; the second run of an A/A pair over the first
is a ratio like any other. Each measure is handled at once: the ratios of all its pairs
are an array of blocks × pairs, and everything after that is arithmetic on columns.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.statistics.intervals import both_ends, in_two_states, medians, scatter
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.groups import CELL
from scaling.analysis.table.latency import LATENCY_PREFIX
from scaling.analysis.tables.cells import NONE
from scaling.analysis.tables.derived import memory_kinds
from scaling.analysis.tables.pairs import EQUAL_CELLS, factors, is_main, pairs_of
from scaling.analysis.tables.values import Measure, Values
from scaling.analysis.tables.words import (
    FARTHEST,
    NO_WORD,
    OPEN,
    Scale,
    at_most_percent,
    blocks_to_decide,
    is_proven,
    known_ends,
    p_of_differences,
    said,
    scale_of,
    words,
)
from scaling.base.formats import percent
from scaling.journal.record import Parameters
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN
from scaling.study.questions import CAPACITY, CPU, MEMORY, THROUGHPUT, every_ratio
from scaling.study.sections import without_rate

GAIN = "gain"
FEWEST_OF_SEVERAL = 8  # from so many blocks on `worse` rests on the last level
LEVELS = (0.90, 0.95, 0.975)

# Reasons why a ratio has no word.
FEW, STATES = "too few blocks", "two states"
BOUND, EQUAL_DIFFER = "only a bound is known", "equal cells differ"
# Reasons why two cells were not measured in turn.
OTHER_N = "they have another number of workers"
OTHER_GROUP = "one group had no room for both"
OTHER_STUDY = "they are of two studies"
NO_TURNS = "each was measured after the other"

ABOUT = ("name", "subject", *CELL, "region")
OF_CELL = ("rate", "of_peak", "control", "twin", "wrong", "cell")
OF_OTHER = ("name", "loop", "arm", "model", "workers", "wrong")


class Ends(NamedTuple):
    """The ratios of some pairs, shape (blocks, pairs): as figures, and turned so that more is
    better as logarithms, the least and the most that each can be.
    """

    ratio: Floats
    low: Floats
    high: Floats
    bound: Integers

    def of(self, places: Integers) -> "Ends":
        """Those of some of the pairs."""
        ratio, low, high = (each[:, places] for each in (self.ratio, self.low, self.high))
        return Ends(ratio, low, high, self.bound[:, places])


def ratios(values: Values, margin: float = MARGIN) -> pd.DataFrame:
    """Every ratio of a study that has a value in any block, question by question.

    Columns: `question`, `measure`, `step` (what changes in a step of the ladder); `of` and `over`,
    the places of the two cells; what they are (`ABOUT`, `OF_CELL`; with `over_` `OF_OTHER`);
    `headline` and `main` (a headline of the same question and cell); `ratio`, `low`, `high` (95 %;
    the range below six blocks), `n`, `bound` (1 where the median is a lower bound, -1 an upper
    one); `word`, the `p` of a difference that it says, `at_most_percent`, `why` there is none, and
    `said`, all of it in words (a gain has no word: its efficiency); `blocks_to_decide` one that is
    open; `candidates`, and `beside`, what is wrong with those that were not chosen;
    `why_not_in_turn`, empty where the two were measured in turn; `memory_kind`.
    """
    found = _of_pairs(values, pairs_of(every_ratio(values), values), margin)
    if found.empty:
        return nothing()
    split = _of_pairs(values, factors(found, values.table), margin)
    found = pd.concat([found, split], ignore_index=True)
    is_gain = found["question"] == GAIN
    found.loc[is_gain, ["word", "why"]] = NO_WORD
    found = withheld(found, values.table, doubts_of(found, values.table), margin)
    share = found["ratio"] / values.table["workers"].to_numpy()[found["of"]]
    found.loc[is_gain, "said"] = [f"efficiency {percent(each)}" for each in share[is_gain]]
    found["why_not_in_turn"] = why_apart(values, found["of"], found["over"])
    kinds = memory_kinds(values)[found["of"]].to_numpy()
    found["memory_kind"] = np.where(found["measure"] == MEMORY, kinds, "")
    found["main"] = is_main(found)
    about = values.table[[*ABOUT, *OF_CELL]]
    other = values.table[list(OF_OTHER)].add_prefix("over_")
    return found.join(about, on="of").join(other, on="over")


def nothing() -> pd.DataFrame:
    """The table without a row, for those who select from it."""
    flags = ("headline", "states", "main", "control", "twin", "wrong", "over_wrong")
    numbers = ("of", "over", "n", "bound", "workers", "over_workers")
    figures = ("ratio", "low", "high", "at_most_percent", "p", "blocks_to_decide", "rate")
    texts = ("question", "measure", "step", "word", "why", "said", "why_not_in_turn", "memory_kind")
    cells = (*ABOUT, *OF_CELL, *(f"over_{name}" for name in OF_OTHER))
    kinds = dict.fromkeys((*texts, "candidates", "beside", *cells), "str")
    kinds |= dict.fromkeys(figures, "float64") | dict.fromkeys(numbers, "int64")
    kinds |= dict.fromkeys(flags, "bool")
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in kinds.items()})


def _of_pairs(values: Values, pairs: pd.DataFrame, margin: float) -> pd.DataFrame:
    are_equal = pairs["question"] == EQUAL_CELLS
    parts = [
        of_measure(
            values.of_single_runs if bool(is_equal) else values,
            str(name),
            part.reset_index(drop=True),
            margin,
        )
        for (name, is_equal), part in pairs.groupby(["measure", are_equal], sort=False)
    ]
    if not parts:
        return pd.DataFrame()
    return pd.concat(parts).sort_values("asked", ignore_index=True)


def of_measure(
    values: Values, name: str, pairs: pd.DataFrame, margin: float = MARGIN
) -> pd.DataFrame:
    """The ratios of one measure: of the candidates of each the best, with the word."""
    measure, scale = values[name], scale_of(name, margin)
    every = _ends(measure, scale, pairs)
    pairs = _with_states(pairs, every, scale)
    wrong = values.table["wrong"].to_numpy()
    best = _best(measure, name, scale, pairs.assign(wrong=wrong[pairs["over"]]))
    found = pairs.loc[best].set_index("asked")
    found["candidates"] = pairs.groupby("asked").size()
    beside = _beside(pairs[~pairs.index.isin(best)], values)
    found["beside"] = beside.reindex(found.index, fill_value="")
    ends = every.of(best)
    found = with_words(_with_intervals(found, ends, scale), scale)
    found["p"] = p_of_differences(found["word"], ends.low, ends.high, _several(found), scale)
    needed = blocks_to_decide(found["middle"].to_numpy(), found["scatter"].to_numpy(), scale)
    found["blocks_to_decide"] = np.where(found["word"] == OPEN, needed, np.nan)
    return found[found["n"] > 0].drop(columns=["along", "apart_from"]).reset_index()


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
    """The divisor of each ratio, shape (blocks, pairs): 1 for most."""
    found = np.ones((len(measure.value), len(pairs)))
    for at, apart in enumerate(pairs["apart_from"]):
        if apart:
            one, other = apart
            found[:, at] = measure.value[:, one] / measure.value[:, other]
    return found


def _with_states(pairs: pd.DataFrame, ends: Ends, scale: Scale) -> pd.DataFrame:
    with np.errstate(divide="ignore", invalid="ignore"):
        states = in_two_states(np.log(ends.ratio), float(np.log1p(scale.tiers[0])))
    return pairs.assign(known=np.isfinite(ends.ratio).sum(axis=0), states=states)


def _with_intervals(found: pd.DataFrame, ends: Ends, scale: Scale) -> pd.DataFrame:
    """The pairs with their ratios, and the ends of their intervals: `low_90` to `high_sure`.

    These are `FARTHEST` where there is no interval: of too few blocks, or of two states. `low` and
    `high` are those of 95 % of the values as they are, whatever they are bounds of.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = scale.sign * np.log(ends.ratio)
    low, high = both_ends(ends.low, LEVELS)
    own = low[1], high[1]
    if not np.array_equal(ends.low, ends.high, equal_nan=True):  # values that are bounds
        _, high = both_ends(ends.high, LEVELS)
        own_low, own_high = both_ends(logs, LEVELS[1:2])
        own = own_low[0], own_high[0]
    point, least, most, n = medians(ends.ratio)
    few = n < FEWEST_FOR_INTERVAL
    with np.errstate(over="ignore"):
        turned = np.sort(np.exp(scale.sign * np.array(own)), axis=0)
    usable = ~few & ~found["states"].to_numpy()
    low = np.where(usable, known_ends(low), -FARTHEST)
    high = np.where(usable, known_ends(high), FARTHEST)
    return found.assign(
        ratio=point,
        low=np.where(few, least, turned[0]),
        high=np.where(few, most, turned[1]),
        n=n,
        bound=Measure(ends.ratio, ends.bound, ends.low, ends.high).side,
        middle=medians(logs).point,
        scatter=scatter(logs),
        low_90=low[0],
        low_95=low[1],
        high_90=high[0],
        high_95=high[1],
        high_sure=np.where(_several(found), high[2], high[1]),
    )


def _several(found: pd.DataFrame) -> Flags:
    """Flags of ratios whose `worse` rests on the last level: the best of several was chosen."""
    several = (found["candidates"] > 1) & (found["known"] >= FEWEST_OF_SEVERAL) & ~found["states"]
    return several.to_numpy()


def _best(measure: Measure, name: str, scale: Scale, pairs: pd.DataFrame) -> Integers:
    """The place of the best candidate of each ratio: the one whose median is best. One that answers
    wrongly is chosen only among such.

    Of latencies it is the one that is least often a lower bound, and among these the lowest.
    """
    known = np.isfinite(measure.value).any(axis=0)
    middle = np.full(len(known), np.inf)
    middle[known] = -scale.sign * np.nanmedian(measure.value[:, known], axis=0)
    over = pairs["over"].to_numpy()
    order = pd.DataFrame(
        {
            "asked": pairs["asked"],
            "wrong": pairs["wrong"],
            "first": middle[over],
            "then": -measure.side[over],
        }
    )
    if name.startswith(LATENCY_PREFIX):
        order["first"], order["then"] = measure.bound.mean(axis=0)[over], middle[over]
    ranked = order.sort_values(["asked", "wrong", "first", "then"], kind="stable")
    return np.sort(ranked.drop_duplicates("asked").index.to_numpy())


def _beside(others: pd.DataFrame, values: Values) -> "pd.Series[str]":
    """Faults of the candidates that were not chosen, by the number of the question."""
    wrong = others[others["states"] | (others["known"] < FEWEST_FOR_INTERVAL)]
    models, arms = (values.table[name].astype(str) for name in ("model", "arm"))
    texts = [
        f"{models[over]} on {arms[over]}: {STATES if states else FEW}"
        for over, states in zip(wrong["over"], wrong["states"], strict=True)
    ]
    found = pd.Series(texts, index=wrong["asked"], dtype=object)
    return found.groupby(level=0, sort=False).agg("; ".join)


def with_words(found: pd.DataFrame, scale: Scale) -> pd.DataFrame:
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
    return found.assign(
        word=np.where(why == "", word, NO_WORD),
        why=why,
        at_most_percent=np.where(why == "", bound, np.nan),
    )


def withheld(
    found: pd.DataFrame, table: pd.DataFrame, doubts: Collection[str], margin: float
) -> pd.DataFrame:
    """The ratios without words on what is in doubt, and with what is `said` of each.

    `table` is that of the cells they are of.
    """
    doubted = _about(found, table).isin(doubts) & (found["question"] != EQUAL_CELLS)
    found.loc[doubted & (found["why"] == ""), ["word", "why"]] = NO_WORD, EQUAL_DIFFER
    figures = found.columns.intersection(["p", "at_most_percent", "blocks_to_decide"])
    found.loc[found["word"] == NO_WORD, figures] = np.nan
    names = ["measure", "word", "why", "low_90", "high_90", "low_95", "high_95"]
    rows = found[names].to_dict("records")
    found["said"] = [said(row, scale_of(str(row["measure"]), margin)) for row in rows]
    return found


def doubts_of(found: pd.DataFrame, table: pd.DataFrame) -> set[str]:
    """The workloads with parameters and measures in which equal cells differ.

    A capacity is of cells at several rates, so those of any of them are in doubt for it.
    """
    proven = found["word"].map(is_proven).astype(bool)
    equal = found[(found["question"] == EQUAL_CELLS) & proven]
    loaded = equal[(table.loc[equal["of"], "rate"] > 0).to_numpy()]
    without = table["cell"].map(lambda cell: Parameters.of(without_rate(cell).parameters).text)
    return {*_about(equal, table), *_about(loaded, table.assign(parameters=without))}


def _about(found: pd.DataFrame, table: pd.DataFrame) -> "pd.Series[str]":
    """Workload, parameters and the measure of A/A pairs that each ratio is about."""
    cells = table.loc[found["of"], ["workload", "parameters"]].astype(str).set_axis(found.index)
    return cells["workload"] + " " + cells["parameters"] + " " + found["measure"].map(noise_of)


def noise_of(measure: str) -> str:
    """The measure of A/A pairs that shows how much another one scatters.

    Capacity is nearly in inverse proportion to the CPU time of a request.
    """
    if measure.startswith(CAPACITY.format("")):
        return CPU
    column = MEASURES.get(measure)
    noise = column.noise if column else measure
    return {"throughput": THROUGHPUT, "cpu_s_per_op": CPU}.get(noise, noise)


# ------------------------------------------------------------------------------------------ in turn


def why_apart(values: Values, of: Iterable[int], over: Iterable[int]) -> list[str]:
    """For each pair of cells, by their places, why they were not in turn; empty where they were.

    They were where it is so in every block in which both are valid.
    """
    valid = np.isfinite(values[THROUGHPUT].value)
    group = np.where(valid, values.placed(values.runs["group"]), np.nan)
    alone = _reasons_alone(values)
    workers = values.table["workers"].to_numpy()

    def reason(one: int, other: int) -> str:
        if workers[one] != workers[other]:
            return OTHER_N
        both = valid[:, one] & valid[:, other]
        ours, theirs = group[both, one], group[both, other]
        if both.any() and (ours == theirs).all():
            return ""
        if known := alone.get(one, set()) | alone.get(other, set()):
            return min(known)
        return OTHER_GROUP if np.isfinite(ours + theirs).any() else NO_TURNS

    return [reason(*pair) for pair in zip(of, over, strict=True)]


def _reasons_alone(values: Values) -> dict[int, set[str]]:
    alone = values.runs["alone"].astype(object).to_numpy()
    block, cell = np.nonzero(values.places != NONE)
    known = pd.Series(alone[values.places[block, cell]], index=cell).dropna()
    return {int(str(at)): set(texts) for at, texts in known.groupby(level=0)}
