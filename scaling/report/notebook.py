"""A study for notebooks and other programs: five tables, notes, the answer and plots."""

import os
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study
from scaling.base.errors import UsageError, unknown
from scaling.report.view.plots import PLOTS, drawings
from scaling.report.view.view import view_of


class ShownStudy(Study):
    """A study: `cells`, `runs`, `values`, `estimates` and `ratios` are frames."""

    @property
    def notes(self) -> list[str]:
        """The notes on the figures, in order of weight."""
        return view_of(self).said(self)

    @property
    def answer(self) -> list[pd.DataFrame]:
        """The tables of the answer, as the terminal and the page show them."""
        return [
            pd.DataFrame(
                [[str(cell) for cell in row] for row in grid.rows],
                columns=[heading.text.replace("\n", " ") for heading in grid.headings],
            )
            for grid in view_of(self).answers(self)
        ]

    def plot(self, name: str) -> list[Figure]:
        """The figures of a plot, one for each of its subjects.

        Raises:
            UsageError: there is no such plot, or the study has no figures for it.
        """
        names = [plot.name for plot in PLOTS]
        if name not in names:
            raise unknown("plot", name, names)
        found = [drawn.figure for drawn in drawings(self, name)]
        if not found:
            raise UsageError(f"{self.line.name} has no figures for the plot {name}")
        return found


def read(folder: str | os.PathLike[str]) -> ShownStudy:
    """The study in a folder, or in a journal file.

    Raises:
        UsageError: no journal is there, an empty one, one without runs, or one of a newer version.
    """
    return ShownStudy.of(read_journal(Path(folder)))
