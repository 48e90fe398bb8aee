"""A journal is resumed only if study, machine, builds and pins are the same; then always.

Any other folder is left as it is, and the study begins in the next one. What the plan holds besides
the journal is still to do, and only that.
"""

import errno
import hashlib
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.identity import Identity, canonical, choose, identity_of
from scaling.journal.record import (
    SCHEMA,
    ArmRecord,
    Cell,
    Environment,
    Line,
    Machine,
    PythonFacts,
    RunLine,
    StudyLine,
    encode_line,
)
from scaling.run.session import Done, Replay
from scaling.study.plan.order import ORDER, PlannedRun, Slot, one_block
from tests.support.driving import Pretended, doubts, driven, keys, small_plan
from tests.support.plans import ECHO_FILE, planned
from tests.support.refusing import failing
from tests.support.runs import with_
from tests.support.studies import FakeStudy

BUILD = ArmRecord(
    build="3.14t",
    description=Environment(python=PythonFacts(version="3.14.7", free_threaded=True)),
    expected=parse_arm("3.14t").expected,
)
MACHINE = Machine(id="0" * 32, cpu_model="A processor", memory_bytes=1000)
CELL = Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=2)


def document(text: str = "", **options: Any) -> dict[str, Any]:
    """The settled study, as the journal keeps it."""
    return planned(f"{text}\n{ECHO_FILE}", **options).study.document


def parts(**changed: Any) -> dict[str, Any]:
    """What the identity of a study is made of."""
    same = {"study": document(), "machine": MACHINE, "arms": {"3.14t": BUILD}}
    return {**same, "pins": "aa", "workers_source": "bb", **changed}


def made(**changed: Any) -> Identity:
    return identity_of(StudyLine(schema=SCHEMA, name="scale", **parts(**changed)))


def test_two_ways_of_asking_for_one_study_are_one_study() -> None:
    by_flags = document(workers=("4", "2,1"), loop=("asyncio",), preset="default")
    assert by_flags == document("workers = [1, 2, 4]") == document()  # by the topology


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"study": document(seed=2, blocks=9)}, ("the study (blocks, seed)",)),
        ({"machine": replace(MACHINE, id="1" * 32)}, ("the machine (id)",)),
        ({"machine": replace(MACHINE, kernel="Linux 7")}, ("the machine (kernel)",)),
        ({"machine": replace(MACHINE, cpu_quota=1.5)}, ("the machine (cpu_quota)",)),
        ({"machine": replace(MACHINE, memory_bytes=999)}, ()),  # a reboot may count it differently
        ({"arms": {"3.14t": replace(BUILD, description=None)}}, ("the builds (3.14t)",)),
        ({"pins": "cc"}, ("the pinned packages",)),
        ({"workers_source": "cc"}, ("the source of the workers",)),
        ({"own_source": "dd"}, ("Python files below --path",)),
    ],
)
def test_what_is_not_the_same_is_named(changed: dict[str, Any], said: tuple[str, ...]) -> None:
    assert (made(**changed).fingerprint != made().fingerprint) is bool(said)
    assert made(**changed).differences(made()) == said


def test_a_cell_of_another_process_is_the_same_in_whatever_order_its_parameters_stand() -> None:
    cell = replace(CELL, parameters={"connections": 8, "ratio": 1.0})
    other = replace(CELL, parameters={"ratio": 1.0, "connections": 8})
    assert {cell: "known"}[pickle.loads(pickle.dumps(other))] == "known"


# --- the folder ---------------------------------------------------------------------------------

MADE = FakeStudy(workers=(1, 2), blocks=2)
RUNS = MADE.runs


def head(**changes: Any) -> StudyLine:
    line = replace(MADE.first_line, **{"pins": "p1", "workers_source": "w1", **changes})
    return replace(line, fingerprint=identity_of(line).fingerprint)


def all_runs(journal: JournalFile) -> bool:
    return len(journal.runs) == len(RUNS)


def measured(folder: Path, line: StudyLine, runs: Sequence[RunLine]) -> bytes:
    """What the journal of a study in this folder has."""
    folder.mkdir()
    lines: list[Line] = [line, *runs]
    text = b"".join(encode_line(each) for each in lines)
    (folder / FILE_NAME).write_bytes(text)
    return text


type Choose = Callable[[StudyLine], tuple[JournalFile, list[str]]]


@pytest.fixture
def chosen(tmp_path: Path) -> Choose:
    def choose_(line: StudyLine) -> tuple[JournalFile, list[str]]:
        journal, notes = choose(tmp_path / "study", line, all_runs)
        journal.close()
        return journal, notes

    return choose_


def test_same_study_is_resumed_in_the_first_folder_that_fits(
    tmp_path: Path, chosen: Choose
) -> None:
    measured(tmp_path / "study", head(), RUNS)
    measured(tmp_path / "study-2", head(seed=2, study={"name": "other"}), [])
    before = measured(tmp_path / "study-3", head(), RUNS[:3])
    journal, notes = chosen(head(started_at="2026-11-21T08:00:00Z", scaling="0.2.0"))
    assert (journal.path.parent, len(journal.runs)) == (tmp_path / "study-3", 3)
    assert len(notes) == 3
    assert notes[-1] == f"resuming {tmp_path / 'study-3'}: 3 runs are already measured"
    assert journal.path.read_bytes() == before


@pytest.mark.parametrize(
    ("there", "runs", "reason"),
    [
        (head(pins="p2"), 1, "the pinned packages"),
        (head(order=ORDER + 1), 1, "its runs are in the order of another version"),
        (head(order=ORDER), len(RUNS), "that study is complete"),
    ],
    ids=["another study", "another order", "complete"],
)
def test_what_cannot_go_on_is_left_as_it_is_and_the_reason_said(
    there: StudyLine, runs: int, reason: str, tmp_path: Path, chosen: Choose
) -> None:
    before, line = measured(tmp_path / "study", there, RUNS[:runs]), head(order=ORDER)
    journal, notes = chosen(line)
    assert journal.path.parent == tmp_path / "study-2"
    (note,) = notes
    assert reason in note
    assert "study-2" in note
    assert (tmp_path / "study" / FILE_NAME).read_bytes() == before
    assert journal.path.read_bytes() == encode_line(line)


def test_a_study_without_code_of_ones_own_is_known_as_before() -> None:
    """The fingerprint of 1.1 for the same identity."""
    line = StudyLine(schema=SCHEMA, name="scale", **parts())
    old = {name: value for name, value in asdict(identity_of(line)).items() if name != "own_source"}
    digest = hashlib.sha256(canonical(old).encode()).hexdigest()
    assert identity_of(line).fingerprint == digest
    assert identity_of(replace(line, own_source="oo")).fingerprint != digest


def test_folder_of_a_published_study_is_not_written_to(tmp_path: Path, chosen: Choose) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / f"{FILE_NAME}.gz").write_bytes(b"")
    journal, notes = chosen(head())
    assert journal.path.parent == tmp_path / "study-2"
    assert "it holds a published study" in notes[0]
    assert [path.name for path in (tmp_path / "study").iterdir()] == [f"{FILE_NAME}.gz"]


def test_a_file_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOSYS))
    journal, _ = choose(tmp_path / "study", head(), all_runs)
    with journal:
        assert journal.head == head()


def test_folder_in_use_is_an_error_and_no_reason_to_begin_another(tmp_path: Path) -> None:
    first, notes = choose(tmp_path / "study", head(), all_runs)
    assert (first.path, notes) == (tmp_path / "study" / FILE_NAME, [])
    with pytest.raises(UsageError, match="is being written by another study right now"):
        choose(tmp_path / "study", head(), all_runs)
    first.close()
    assert not (tmp_path / "study-2").exists()
    assert first.path.read_bytes() == encode_line(head())


# --- what is measured then -----------------------------------------------------------------------

CELLS = [
    Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=n)
    for n in (1, 2, 3)
]


@pytest.mark.slow
@given(st.data())
def test_wherever_a_study_stops_it_goes_on_as_if_it_had_not(data: st.DataObject) -> None:
    """The one order of runs and attempts, whatever was invalid, cut anywhere."""
    runs = [run for block in range(2) for run in one_block(map(Slot, CELLS), block, seed=3)]
    every = [(run, attempt) for run in runs for attempt in (1, 2)]
    judge = doubts(*data.draw(st.lists(st.sampled_from(every), unique=True)))

    def line_of(run: PlannedRun) -> RunLine:
        return with_(Pretended().line(run), outcome="measured")

    def on_from(done: list[RunLine]) -> list[RunLine]:
        done = list(done)
        while to_do := Replay.of(done, judge).remaining([(run,) for run in runs]):
            done.append(line_of(to_do[0][0]))
        return done

    whole = on_from([])
    cut = data.draw(st.integers(0, len(whole)))
    assert on_from(whole[:cut]) == whole
    assert [line.attempt for line in whole[: len(runs)]] == [1] * len(runs)
    again = Counter(keys(whole[len(runs) :]))
    assert again == Counter(keys([line for line in whole[: len(runs)] if judge(line)]))


def test_a_record_is_on_disk_before_the_next_run_starts(tmp_path: Path) -> None:
    plan, path = small_plan(), tmp_path / "journal.jsonl"
    lines_seen = []

    class Looking(Pretended):
        def __call__(self, run: PlannedRun) -> Done:
            lines_seen.append(path.read_bytes().count(b"\n"))
            return super().__call__(run)

    driven(plan, tmp_path, Looking())
    assert lines_seen == list(range(1, len(plan.runs) + 1))
