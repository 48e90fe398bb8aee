"""Fixtures that several files share."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from scaling.journal.record import Description
from scaling.run.prepare import describe
from tests.support.children import BEGINNING

# How long an example takes depends on the machine; no test asserts it.
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


@pytest.fixture(scope="module")
def described_once() -> Iterator[None]:
    """Describe each environment once per file: it takes two seconds and never changes."""
    known: dict[tuple[str, ...], Description] = {}

    def once(python: str, environment: Mapping[str, str], own: Sequence[str] = ()) -> Description:
        if own:  # a user's workload may change
            return describe(python, environment, own)
        asked = {**environment, "PYTHONPATH": ""}  # a folder that is made each time
        settings = sorted(f"{name}={each}" for name, each in asked.items() if "PYTHON" in name)
        arm = (python, *settings)
        return known.get(arm) or known.setdefault(arm, describe(python, environment))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.run.prepare.describe", once)
        yield
