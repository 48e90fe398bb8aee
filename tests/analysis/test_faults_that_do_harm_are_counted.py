"""`nox -s faults` sees a record that is lost or doubled, and what was left behind, and fails."""

from pathlib import Path

from scaling.journal.file import FILE_NAME
from scaling.journal.record import RunLine, encode_line
from tests.faults.attempt import Row, Try
from tests.faults.journal import TORN
from tests.faults.left_behind import unexpected
from tests.faults.records import compared, key_of
from tests.support.fabricate import Made, journal

HEAD, *RUNS = journal(Made(workers=(1, 2), blocks=2))
KEYS = [key_of(run) for run in RUNS if isinstance(run, RunLine)]


def test_a_whole_journal_is_clean(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"".join(map(encode_line, [HEAD, *RUNS])) + TORN)
    assert compared(tmp_path / FILE_NAME, KEYS) == Try()


def test_lost_and_doubled_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"".join(map(encode_line, [HEAD, *RUNS[1:], RUNS[2], RUNS[2]])))
    assert compared(path, KEYS) == Try(lost=1, doubled=2)
    path.write_bytes(TORN)
    assert compared(path, KEYS).lost == len(KEYS)
    path.unlink()
    assert compared(path, KEYS).lost == len(KEYS)


def test_files_that_nobody_expects_are_named(tmp_path: Path) -> None:
    for name in (FILE_NAME, ".report.html.123"):
        (tmp_path / name).touch()
    assert unexpected(tmp_path, [FILE_NAME]) == [".report.html.123"]


def test_any_harm_fails_the_session_and_what_cannot_be_tried_does_not() -> None:
    harms = (Try(problem="it hangs"), Try(lost=1), Try(doubled=1), Try(processes=1), Try(files=1))
    assert all(Row("fault", [Try(), harm], 1.0).failed for harm in harms)
    assert Row("fault", [], 1.0).failed
    assert not Row("fault", [Try()], 1.0).failed
    assert not Row("fault", [], 1.0, missing="no C compiler here").failed
    assert Row("fault", [Try(), harms[0], harms[1]], 1.0).cells[:5] == ["fault", "3", "2", "1", "0"]
