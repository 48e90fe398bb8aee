"""Words for simulated ratios, by the path of all words."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.tables.pairs import Pair
from scaling.analysis.tables.ratios import of_measure
from scaling.analysis.tables.values import Measure
from scaling.analysis.tables.words import RATE, SAME, Scale
from scaling.study.questions import THROUGHPUT


class Simulated:
    """A measure of simulated cells, in the place of a study's `Values`."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        cells = measure.value.shape[1]
        table = {"model": "processes", "arm": "3.14", "wrong": False}
        self.table = pd.DataFrame(table, index=range(cells))

    def __getitem__(self, name: str) -> Measure:
        return self.measure


def worded(of: Floats, *over: Floats, measure: str = THROUGHPUT) -> pd.DataFrame:
    """The rows of `ratios`: of each cell, shape (blocks, studies), over the best of its candidates,
    of the same shape each; with none it is of ratios.
    """
    blocks, studies = of.shape
    candidates = over or (np.ones((blocks, 1)).repeat(studies, axis=1),)
    values = Simulated(Measure.exact(np.hstack([of, *candidates])))
    pairs = [
        Pair(study, "", measure, "", headline=False, of=study, over=studies * (1 + at) + study)
        for study in range(studies)
        for at in range(len(candidates))
    ]
    return of_measure(values, measure, pd.DataFrame(pairs))  # type: ignore[arg-type]


def statements(scale: Scale = RATE) -> Mapping[str, tuple[float, float]]:
    """Where the true ratio lies by each word, as a logarithm turned so that more is better."""
    margin, inner, outer = map(float, np.log1p(scale.tiers))
    return {
        scale.worse: (-np.inf, -margin),
        scale.better: (margin, np.inf),
        SAME: (-margin, margin),
        f"slightly {scale.worse}": (-inner, 0.0),
        f"{scale.worse}, size open": (-np.inf, 0.0),
        f"slightly {scale.better}": (0.0, inner),
        f"{scale.better}, size open": (0.0, np.inf),
        f"not {scale.worse}": (0.0, np.inf),
        f"at most slightly {scale.worse}": (-inner, np.inf),
        f"at most moderately {scale.worse}": (-outer, np.inf),
    }


def wrong(words: "pd.Series[str]", truth: Floats, scale: Scale = RATE) -> "pd.Series[bool]":
    """Which words are wrong, by the true logarithm of each ratio."""
    said = statements(scale)
    ends = np.array([said.get(word, (-np.inf, np.inf)) for word in words])
    return pd.Series((truth < ends[:, 0]) | (truth > ends[:, 1]), words.index)
