"""How often is each word right, by the number of blocks and how much a block scatters?

Simulated, nothing is measured: the true ratio is anything between 15 % less and 15 % more, blocks
scatter around it in a normal distribution. Beside each figure stand the words: how many of a
hundred studies are given each, and how often it is right.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from scaling.analysis.tables.words import OPEN, is_proven
from tests.benchmarks.figure import Effort, Figure
from tests.support.words import worded, wrong

BLOCKS, SCATTERS = (6, 8, 12, 20), (0.02, 0.04, 0.08)
FARTHEST = np.log(1.15)
STUDIES_A_PAIR = 500
SEED = 20261128


def figures(effort: Effort) -> Iterator[Figure]:
    """The share of words that are right, and of equal cells that are called different."""
    studies = effort.pairs * STUDIES_A_PAIR
    rng = np.random.default_rng(SEED)
    for blocks, scatter in product(BLOCKS, SCATTERS):
        truth = rng.uniform(-FARTHEST, FARTHEST, studies)
        noise = scatter * rng.normal(0, 1, (2, blocks, studies))
        rows = worded(np.exp(truth + noise[0]))
        given = rows[~rows["word"].isin([OPEN, ""])].index
        is_right = ~wrong(rows["word"], truth)
        name = f"words: right, {blocks} blocks of {scatter:.0%}"
        detail = said(rows["word"], is_right)
        yield Figure(name, [is_right[given].mean()], at_least=0.95, detail=detail)
        equal = worded(np.exp(noise[1]))["word"].map(is_proven).mean()
        yield Figure("words: equal cells differ", [equal], at_most=0.05)


def said(words: "pd.Series[str]", is_right: "pd.Series[bool]") -> str:
    """`slower 38 % (99.9 % right), …`, the most frequent one first."""
    counts = words.replace("", "no word").value_counts(normalize=True)
    rates = is_right.groupby(words).mean().to_dict()
    return ", ".join(
        f"{word} {share:.1%}" + (f" ({rates[word]:.1%} right)" if word in rates else "")
        for word, share in counts.items()
    )
