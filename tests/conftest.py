"""Fixtures that several files share."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.children import BEGINNING


@pytest.fixture
def theirs(tmp_path: Path) -> Callable[[str], str]:
    """Writes a user's module into `tmp_path`; gives the name of its class `Theirs` for a cell."""

    def write(source: str) -> str:
        (tmp_path / "theirs.py").write_text(BEGINNING + textwrap.dedent(source))
        return "theirs:Theirs"

    return write
