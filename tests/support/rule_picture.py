"""The picture of the rule of words: made-up intervals, each with the word that it gets."""

from pathlib import Path

import numpy as np
import pandas as pd

from scaling.analysis.tables.words import RATE, said, words
from scaling.report.render.draw import ratios
from scaling.report.render.sheet import Picture
from scaling.report.render.svg import svg
from scaling.report.view.declare import tone

FILE_NAME = "words.svg"
TITLE = "The word for a ratio of two rates, by its interval"
CAPTION = "made-up intervals of 95 %; pale: the margin, 2 %"
PALE = "#e3e3e3"
# Per cent by which the median is better, and the standard error of its logarithm in per cent.
INTERVALS = (
    (8, 1.0),
    (4, 1.5),
    (1.5, 0.7),
    (0, 0.8),
    (-1, 2.0),
    (-4, 3.0),
    (-2.5, 1.0),
    (-6, 2.5),
    (-12, 2.0),
    (-2, 6.0),
)
ENDS = {"low_90": -1.645, "low_95": -1.960, "high_90": 1.645, "high_95": 1.960, "high_sure": 1.960}


def rule_picture() -> Picture:
    """The plot: a line for each interval, the best first."""
    better, error = (np.array(each) / 100 for each in zip(*INTERVALS, strict=True))
    ends = pd.DataFrame({name: np.log1p(better) + z * error for name, z in ENDS.items()})
    rows = ends.assign(word=words(ends, RATE), why="", arm="", panel="")
    rows = rows.assign(
        name=rows["word"],
        said=[said(row, RATE) for row in rows.to_dict("records")],
        tone=rows["word"].map(tone),
        ratio=1 + better,
        low=np.exp(ends["low_95"]),
        high=np.exp(ends["high_95"]),
    )
    picture = ratios(TITLE, CAPTION, rows, {})
    axes = picture.figure.axes[0]
    axes.set_xticks([1 - RATE.tiers[2], 1 - RATE.tiers[1], 1, 1 + RATE.tiers[1]])
    axes.axvspan(1 / (1 + RATE.tiers[0]), 1 + RATE.tiers[0], color=PALE, zorder=-1)
    return picture


def write_rule_picture(folder: Path) -> None:
    """Draw it into this folder."""
    text = svg(rule_picture().figure, FILE_NAME, TITLE)
    (folder / FILE_NAME).write_text(text, encoding="utf-8")
