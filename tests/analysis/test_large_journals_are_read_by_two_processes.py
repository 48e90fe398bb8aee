"""Two processes that share a journal give the frame that one gives."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.table import sharing
from scaling.analysis.table.load import read_journal
from scaling.analysis.table.part import Read, read_part
from scaling.base.errors import UsageError
from scaling.journal.reading import Part, read_lines
from scaling.journal.record import CeilingLine, encode_line
from tests.support.fabricate import Made, journal, write

pytestmark = pytest.mark.slow

MADE = Made(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=3)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every journal is large, on a machine with two CPUs and a quick start."""
    monkeypatch.setattr(sharing, "LARGE_BYTES", 1)
    monkeypatch.setattr(sharing, "START_BYTES", 0)
    monkeypatch.setattr(sharing, "_cpus", lambda: 2)


def spoilt(tmp_path: Path) -> Path:
    """A journal with rubbish, ceilings and a torn end in it."""
    lines = [encode_line(line) for line in journal(MADE)]
    lines.insert(2, b"rubbish\n")
    lines.insert(-2, b"more of it\n")
    lines.insert(4, encode_line(CeilingLine(service="site", requests_per_s=1.0)))
    lines.insert(-1, encode_line(CeilingLine(service="site", requests_per_s=2.0)))
    file = tmp_path / "journal.jsonl"
    file.write_bytes(b"".join(lines) + b'{"kind":"run","torn')
    return file


def test_the_halves_make_the_whole(tmp_path: Path, shared: None) -> None:
    file = spoilt(tmp_path)
    both = read_journal(file)
    alone = read_part(file, Part())
    assert len(both.frame) == len(alone.frame) == 12
    whole = both.frame.drop(columns="outlier")
    pd.testing.assert_frame_equal(whole, alone.frame.drop(columns="outlier"))
    assert both.notes == alone.notes
    assert [each.requests_per_s for each in both.ceilings] == [1.0, 2.0]


def test_the_second_half_is_the_helpers(
    tmp_path: Path, shared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[Part] = []

    def noted(path: Path, part: Part) -> Read:
        parts.append(part)
        return read_part(path, part)

    monkeypatch.setattr(sharing, "read_part", noted)
    file = spoilt(tmp_path)
    sharing.read_all(file)
    assert parts == [Part(0, file.stat().st_size // 2)]


def test_a_helper_that_fails_is_made_up_for(
    tmp_path: Path, shared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = spoilt(tmp_path)
    expected = read_journal(file)
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\nexit 3\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))
    pd.testing.assert_frame_equal(read_journal(file).frame, expected.frame)


def test_a_second_study_in_the_helpers_half_is_refused_as_ever(
    tmp_path: Path, shared: None
) -> None:
    lines = [*journal(MADE), *journal(MADE)[:1]]
    with pytest.raises(UsageError, match="a second study begins at line 14"):
        read_journal(write(lines, tmp_path / "journal.jsonl"))


def test_a_helper_does_not_outlive_its_use(tmp_path: Path) -> None:
    file = spoilt(tmp_path)
    with pytest.raises(KeyboardInterrupt), sharing._helper(file, 1) as process:
        raise KeyboardInterrupt
    assert process.poll() is not None


def test_parts_meet_wherever_they_are_cut(tmp_path: Path) -> None:
    file = spoilt(tmp_path)
    notes: list[str] = []
    whole = list(read_lines(file, notes.append))
    for cut in range(1, file.stat().st_size, 997):
        told: list[str] = []
        first = list(read_lines(file, told.append, Part(0, cut)))
        _, *second = read_lines(file, told.append, Part(cut))
        assert first + second == whole
        assert told == notes
