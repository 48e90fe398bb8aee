"""Fixtures that several files share, and which tests have the machine to themselves."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from scaling.journal.record import Description
from scaling.run.prepare import describe
from tests.support.children import BEGINNING, measured

# How long an example takes is the machine's doing, and no promise of ours.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Mark what measures: `nox -s tests` runs nothing beside it.

    A file that imports `measured` looks at figures of real runs; one that gets at such figures in
    another way says `pytestmark = pytest.mark.measures`.
    """
    for item in items:
        if isinstance(item, pytest.Function) and vars(item.module).get("measured") is measured:
            item.add_marker("measures")


@pytest.fixture
def theirs(tmp_path: Path) -> Callable[[str], str]:
    """Writes a user's module into `tmp_path`; gives the name of its class `Theirs` for a cell."""

    def write(source: str) -> str:
        (tmp_path / "theirs.py").write_text(BEGINNING + textwrap.dedent(source))
        return "theirs:Theirs"

    return write


@pytest.fixture(scope="module")
def described_once() -> Iterator[None]:
    """An environment takes two seconds to describe itself, and says the same every time."""
    told: dict[tuple[str, ...], Description] = {}

    def once(python: str, environment: Mapping[str, str], own: Sequence[str] = ()) -> Description:
        if own:  # which may be another one the next time
            return describe(python, environment, own)
        asked = {**environment, "PYTHONPATH": ""}  # a folder that is made each time
        settings = sorted(f"{name}={each}" for name, each in asked.items() if "PYTHON" in name)
        arm = (python, *settings)
        return told.get(arm) or told.setdefault(arm, describe(python, environment))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.run.prepare.describe", once)
        yield
