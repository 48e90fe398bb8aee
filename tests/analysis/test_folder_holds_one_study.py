"""A folder is gone on with only if it holds the very same study; any other is left as it is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.folder import Chosen, choose
from scaling.journal.identity import identity_of
from scaling.journal.record import Line, RunLine, StudyLine, encode_line
from scaling.study.plan.order import ORDER
from tests.support.fabricate import Made, journal, study_line

MADE = Made(workers=(1, 2), blocks=2)
RUNS = [line for line in journal(MADE) if isinstance(line, RunLine)]


def head(**changes: Any) -> StudyLine:
    line = msgspec.structs.replace(study_line(MADE), pins="p1", workers_source="w1", **changes)
    return msgspec.structs.replace(line, fingerprint=identity_of(line).fingerprint)


def all_runs(journal: JournalFile) -> bool:
    return len(journal.runs) == len(RUNS)


def measured(folder: Path, line: StudyLine, runs: Sequence[RunLine]) -> None:
    folder.mkdir()
    lines: list[Line] = [line, *runs]
    (folder / FILE_NAME).write_bytes(b"".join(encode_line(each) for each in lines))


@pytest.fixture
def chosen(tmp_path: Path) -> Callable[[StudyLine], Chosen]:
    def choose_(line: StudyLine) -> Chosen:
        found = choose(tmp_path / "study", line, all_runs)
        found.journal.close()
        return found

    return choose_


def test_new_folder_begins_with_the_study(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen]
) -> None:
    found = chosen(head())
    assert (found.journal.path, found.resumed) == (tmp_path / "study" / FILE_NAME, False)
    assert found.notes == []
    assert found.journal.path.read_bytes() == encode_line(head())


@pytest.mark.parametrize("done", [0, 1, 3])
def test_same_study_is_resumed(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen], done: int
) -> None:
    measured(tmp_path / "study", head(), RUNS[:done])
    before = (tmp_path / "study" / FILE_NAME).read_bytes()
    found = chosen(head(started_at="2026-11-21T08:00:00Z", scaling="0.2.0"))
    assert (found.journal.path.parent, found.resumed) == (tmp_path / "study", True)
    assert (len(found.journal.runs), found.notes) == (done, [])
    assert found.journal.path.read_bytes() == before


OTHER: dict[str, tuple[dict[str, Any], str]] = {
    "machine": (
        {"machine": msgspec.structs.replace(study_line(MADE).machine, id="another")},
        "the machine (id)",
    ),
    "kernel": (
        {"machine": msgspec.structs.replace(study_line(MADE).machine, kernel="Linux 7.0")},
        "the machine (kernel)",
    ),
    "study": ({"study": study_line(MADE).study | {"window_s": 3.0}}, "the study (window_s)"),
    "arms": ({"arms": study_line(Made(arms=("3.14",))).arms}, "the builds (3.14, 3.14t)"),
    "pins": ({"pins": "p2"}, "the pinned packages"),
    "workers": ({"workers_source": "w2"}, "the source of the workers"),
}


@pytest.mark.parametrize("what", OTHER)
def test_another_study_gets_the_next_folder_and_the_reason_is_printed(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen], what: str
) -> None:
    measured(tmp_path / "study", head(), RUNS[:1])
    before = (tmp_path / "study" / FILE_NAME).read_bytes()
    changes, reason = OTHER[what]
    changes = {"pins": "p1", "workers_source": "w1"} | changes
    line = msgspec.structs.replace(study_line(MADE), **changes)
    line = msgspec.structs.replace(line, fingerprint=identity_of(line).fingerprint)
    found = chosen(line)
    assert (found.journal.path.parent, found.resumed) == (tmp_path / "study-2", False)
    (note,) = found.notes
    assert reason in note
    assert "study-2" in note
    assert (tmp_path / "study" / FILE_NAME).read_bytes() == before
    assert found.journal.path.read_bytes() == encode_line(line)


def test_a_study_in_another_order_of_runs_is_left_as_it_is(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen]
) -> None:
    measured(tmp_path / "study", head(order=ORDER + 1), RUNS[:1])
    found = chosen(head(order=ORDER))
    assert (found.journal.path.parent, found.resumed) == (tmp_path / "study-2", False)
    assert "its runs are in the order of another version" in found.notes[0]


def test_complete_study_is_left_as_it_is(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen]
) -> None:
    measured(tmp_path / "study", head(), RUNS)
    found = chosen(head())
    assert (found.journal.path.parent, found.resumed) == (tmp_path / "study-2", False)
    assert "that study is complete" in found.notes[0]


def test_first_folder_that_fits_is_taken(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen]
) -> None:
    measured(tmp_path / "study", head(), RUNS)
    measured(tmp_path / "study-2", head(seed=2, study={"name": "other"}), [])
    measured(tmp_path / "study-3", head(), RUNS[:2])
    found = chosen(head())
    assert (found.journal.path.parent, found.resumed) == (tmp_path / "study-3", True)
    assert len(found.notes) == 2


def test_folder_of_a_published_study_is_not_written_to(
    tmp_path: Path, chosen: Callable[[StudyLine], Chosen]
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / f"{FILE_NAME}.gz").write_bytes(b"")
    found = chosen(head())
    assert found.journal.path.parent == tmp_path / "study-2"
    assert "it holds a published study" in found.notes[0]
    assert [path.name for path in (tmp_path / "study").iterdir()] == [f"{FILE_NAME}.gz"]


def test_folder_in_use_is_an_error_and_no_reason_to_begin_another(tmp_path: Path) -> None:
    first = choose(tmp_path / "study", head(), all_runs)
    with pytest.raises(UsageError, match="is being written by another study right now"):
        choose(tmp_path / "study", head(), all_runs)
    first.journal.close()
    assert not (tmp_path / "study-2").exists()
