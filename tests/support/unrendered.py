"""Figures that are composed, but neither laid out nor drawn: most of the time of a page."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def unrendered() -> Iterator[None]:
    """No figure is rendered inside of the block; its picture has a title, a size and no marks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.report.plots.sheet.Sheet.lay_out", lambda sheet: None)
        patch.setattr("matplotlib.figure.Figure.draw", lambda figure, renderer: None)
        yield
