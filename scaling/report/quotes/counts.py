"""Counts that a text quotes of several studies: of ratios, of A/A pairs and of claims.

    24<!-- verdicts: throughput_per_s question='over processes' workers=2 verdict=slower -->

They stand in the place of a study's folder, for all studies beside it: `verdicts`, or
`my-machine/verdicts`. `verdicts: MEASURE field=value …` counts ratios, by `question`, `verdict` and
`family` as in `comparison.csv`, too. `aa-pairs: pairs.throughput` counts A/A pairs,
`unequal.throughput` those that differ at 5 %, and `different.throughput` those that the rule of
verdicts calls different. `claims: hold` counts claims.
"""

import math
from collections.abc import Callable, Sequence
from typing import get_args

from scaling.analysis.claims.judging import Word as ClaimWord
from scaling.analysis.lookup.cells import differing
from scaling.analysis.lookup.figure import is_of, require_verdicts
from scaling.analysis.lookup.name import FAMILY, QUESTION, VERDICT, FigureName
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.families import ERROR_RATE
from scaling.analysis.statistics.noise import COLUMNS, AAPair
from scaling.analysis.statistics.verdict import Word
from scaling.analysis.table.column import Noise
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown

# Counts of A/A pairs, before a measure: `pairs.throughput`. Those that differ by chance at 5 % are
# not called different, which takes a margin and a correction.
OF_PAIRS: dict[str, Callable[[AAPair, Noise], bool]] = {
    "pairs": lambda pair, measure: not math.isnan(pair.p_equal[measure]),
    "unequal": lambda pair, measure: pair.p_equal[measure] < ERROR_RATE,
    "different": lambda pair, measure: pair.ratios[measure].verdict.side != 0,
}
# Counts of claims, judged by these studies: how many have that word, None for any.
OF_CLAIMS: dict[str, ClaimWord | None] = {
    "all": None,
    "hold": "holds",
    "do-not-hold": "does not hold",
    "inconclusive": "inconclusive",
    "cannot-tell": "inconclusive",  # as earlier pages have it
    "cannot-be-tested": "cannot be tested here",
}


def count_verdicts(name: FigureName, studies: Sequence[StudyResults]) -> int:
    """How many ratios have the fields of a name, among those of some studies.

    Raises:
        UsageError: there is no such verdict, or no ratio that has all other fields.
    """
    word = name.beside.get(VERDICT)
    if word is not None and word not in get_args(Word.__value__):
        raise unknown("verdict", word, get_args(Word.__value__))
    require_verdicts(name.measure, studies)

    def fits(ratio: Ratio) -> bool:
        return (
            is_of(ratio, name.measure)
            and name.beside.get(FAMILY) in (None, ratio.verdict.family)
            and not differing(ratio.of, name.cell)
            and not differing(ratio.over, name.over or {})
        )

    question = name.beside.get(QUESTION)
    known = [ratio for each in studies for ratio in each.ratios.where(question, keep=fits)]
    if not known:
        raise UsageError("no ratio has these fields")
    return sum(word in (None, each.verdict.word) for each in known)


def count_pairs(name: FigureName, studies: Sequence[StudyResults]) -> int:
    """How many A/A pairs some studies have, or how many of them differ: `unequal.throughput`.

    Raises:
        UsageError: there is no such count, or no such measure.
    """
    name.take_no_cell("all A/A pairs")
    what, _, measure = name.measure.partition(".")
    if what not in OF_PAIRS:
        raise unknown("count of A/A pairs", what, OF_PAIRS)
    noise = next((each for each in COLUMNS if each == measure), None)
    if noise is None:
        raise unknown("measure", measure, COLUMNS, where=f"{what}.")
    return sum(OF_PAIRS[what](pair, noise) for each in studies for pair in each.floor.pairs)


def count_claims(name: FigureName, words: Callable[[], Sequence[ClaimWord]]) -> int:
    """How many claims have a word.

    Raises:
        UsageError: there is no such count.
    """
    if name.measure not in OF_CLAIMS:
        raise unknown("count", name.measure, OF_CLAIMS, where="claims")
    name.take_no_cell("all claims")
    return sum(OF_CLAIMS[name.measure] in (None, each) for each in words())
