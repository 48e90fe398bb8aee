"""What an environment can run is asked once and kept, until something it depends on changes."""

import sys
from pathlib import Path

import msgspec
import pytest

from scaling.base.errors import ScalingError
from scaling.builds.prepared_arm import describe, described
from scaling.journal.record import Description

ANSWERS = """
import pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as asked:
    asked.write("once ")
print((here / "answer").read_text())
"""


@pytest.fixture
def environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, described_here: Description
) -> dict[str, str]:
    """The variables of an environment that answers at once, and counts how often it was asked."""
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    (tmp_path / "workers.py").write_text(ANSWERS)
    (tmp_path / "answer").write_bytes(msgspec.json.encode(described_here))
    return {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}


def times_asked(tmp_path: Path) -> int:
    return len((tmp_path / "asked").read_text().split())


@pytest.fixture(autouse=True)
def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered in this process."""
    asked_each_time = describe.__globals__["_ask"].__wrapped__
    monkeypatch.setattr("scaling.builds.prepared_arm._ask", asked_each_time)


def test_it_is_asked_again_when_its_code_or_a_variable_changes(
    environment: dict[str, str], tmp_path: Path, described_here: Description
) -> None:
    for _ in range(2):
        assert described(sys.executable, environment, "source") == described_here
    assert times_asked(tmp_path) == 1
    described(sys.executable, environment, "edited")
    assert times_asked(tmp_path) == 2
    described(sys.executable, environment | {"PYTHONMALLOC": "malloc"}, "source")
    assert times_asked(tmp_path) == 3
    described(sys.executable, environment | {"PYTHONMALLOC": "malloc", "TERM": "dumb"}, "source")
    assert times_asked(tmp_path) == 3, "a variable that has no part in the answer"
    kept = list((tmp_path / "cache" / "descriptions").iterdir())
    assert len(kept) == 2  # the edited one took the place of the first


def test_a_file_that_was_cut_off_is_no_answer(
    environment: dict[str, str], tmp_path: Path, described_here: Description
) -> None:
    described(sys.executable, environment, "source")
    (kept,) = (tmp_path / "cache" / "descriptions").iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    assert described(sys.executable, environment, "source") == described_here
    assert times_asked(tmp_path) == 2


def test_a_cache_that_cannot_be_written_costs_time_only(
    environment: dict[str, str], tmp_path: Path, described_here: Description
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    for _ in range(2):
        assert described(sys.executable, environment, "source") == described_here
    assert times_asked(tmp_path) == 2


def test_an_answer_that_is_none_is_an_error_and_not_kept(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "answer").write_text("{}")
    with pytest.raises(ScalingError, match=r"^Object .+\nSo .+ correct it; else delete"):
        described(sys.executable, environment, "source")
    assert not (tmp_path / "cache").exists()


def test_an_own_workload_is_asked_for_each_time(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(2):
        describe(sys.executable, environment, ["shop:Orders"])
    assert times_asked(tmp_path) == 2
