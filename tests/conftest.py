"""Fixtures that several files share."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.children import BEGINNING

# How long an example takes is the machine's doing, and no promise of ours.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("untimed")


@pytest.fixture
def theirs(tmp_path: Path) -> Callable[[str], str]:
    """Writes a user's module into `tmp_path`; gives the name of its class `Theirs` for a cell."""

    def write(source: str) -> str:
        (tmp_path / "theirs.py").write_text(BEGINNING + textwrap.dedent(source))
        return "theirs:Theirs"

    return write
