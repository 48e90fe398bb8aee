"""Figures that are composed, but empty when they are saved: most of the time of a page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

BLANK = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'


@contextmanager
def unrendered() -> Iterator[None]:
    """No figure is rendered inside of the block; what is saved has no content."""

    def save(figure: object, file: Path | TextIO, **options: object) -> None:
        if isinstance(file, Path):
            file.write_text(BLANK)
        else:
            file.write(BLANK)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", save)
        yield
