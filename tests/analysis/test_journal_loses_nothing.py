"""What was appended is there again, whatever happened to the writer or to the disk meanwhile."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import scaling
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.identity import choose
from scaling.journal.reading import read_lines
from scaling.journal.record import Line, RunLine, SetAsideLine, StudyLine, decode_line, encode_line
from tests.faults.checks import After, checked
from tests.faults.journal import SYNCED, killed
from tests.support.refusing import failing
from tests.support.studies import FakeStudy

LINES = FakeStudy(workers=(1, 2), blocks=2).lines
HEAD, *RUNS = LINES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def write(path: Path, *lines: Line) -> None:
    with JournalFile(path) as opened:
        for line in lines:
            opened.append(line)


def replayed(path: Path) -> tuple[StudyLine | None, list[RunLine]]:
    with JournalFile(path) as opened:
        return opened.head, list(opened.runs)


def test_replay_gives_what_was_appended(path: Path) -> None:
    write(path, *LINES)
    assert replayed(path) == (HEAD, RUNS)
    assert path.read_bytes() == b"".join(encode_line(line) for line in LINES)


def test_record_is_kept_as_the_child_printed_it(path: Path) -> None:
    run = RUNS[0]
    assert isinstance(run, RunLine)
    printed = msgspec.json.decode(msgspec.json.encode(run.record)) | {"of a later version": [1]}
    with JournalFile(path) as opened:
        opened.append(HEAD)
        opened.append(run, msgspec.json.encode(printed))
    kept = msgspec.json.decode(path.read_bytes().splitlines()[1])
    assert kept["record"] == printed
    assert replayed(path)[1] == [run]


@pytest.mark.parametrize("left", [1, -1])
def test_torn_last_line_is_set_aside(path: Path, left: int) -> None:
    write(path, *LINES[:3])
    torn = encode_line(LINES[3])[:-1][:left]
    with path.open("ab") as file:
        file.write(torn)
    assert replayed(path) == (HEAD, RUNS[:2])
    assert decode_line(path.read_bytes().splitlines()[-1]) == SetAsideLine(text=torn.decode())
    write(path, *LINES[3:])
    assert replayed(path) == (HEAD, RUNS)
    assert len(scaling.load(path)) == len(RUNS)


def test_a_last_line_that_lacks_only_its_end_is_a_record(path: Path) -> None:
    whole = b"".join(map(encode_line, LINES))
    path.write_bytes(whole[:-1])
    assert replayed(path) == (HEAD, RUNS)
    assert path.read_bytes() == whole


WHOLE = encode_line(HEAD)


def without(start: int, end: int | None) -> bytes:
    """The first line whose bytes from `start` to `end` were lost by the disk."""
    torn = bytearray(WHOLE)
    torn[start:end] = bytes(len(torn[start:end]))
    return bytes(torn)


@pytest.mark.parametrize(
    "torn",
    [
        *(WHOLE[:1], WHOLE[:-1], b"\x00" * 4096),
        *(without(0, 30), without(5, 12), without(40, None) + b"\x00" * 50),
    ],
    ids=[
        *("a byte", "all but the newline", "zeros"),
        *("lost blocks", "lost inside", "lost end and zeros"),
    ],
)
def test_a_torn_first_line_begins_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, torn: bytes
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path.write_bytes(torn)
    with pytest.raises(UsageError, match="nothing was measured"):
        list(read_lines(path, print))
    with JournalFile(path) as opened:
        assert (opened.head, list(opened.runs)) == (None, [])
        for line in LINES[:2]:
            opened.append(line)
    aside = SetAsideLine(text=torn.decode(errors="replace"))
    lines = [HEAD, aside, LINES[1]]
    assert [decode_line(raw) for raw in path.read_bytes().splitlines()] == lines
    assert replayed(path) == (HEAD, RUNS[:1])
    assert list(read_lines(path, pytest.fail)) == lines


def test_a_study_begins_in_a_folder_with_a_torn_first_line(path: Path) -> None:
    assert isinstance(HEAD, StudyLine)
    path.write_bytes(encode_line(HEAD)[:60])
    opened, notes = choose(path.parent, HEAD, lambda _: False)
    with opened:
        assert (opened.path, opened.head) == (path, HEAD)
    (note,) = notes
    assert "nothing was measured; starting" in note


@pytest.mark.parametrize(
    "damage",
    [
        b"\x00" * 50,
        b"[" * 100_000,
        b'{"kind":"run"}',
        b'{"kind":"omen","of":"rain"}',
    ],
)
def test_damage_in_the_middle_costs_its_own_line(path: Path, damage: bytes) -> None:
    lines = [encode_line(line) for line in LINES]
    path.write_bytes(b"".join([*lines[:2], damage + b"\n", *lines[2:]]))
    before = path.read_bytes()
    assert replayed(path) == (HEAD, RUNS)
    assert path.read_bytes() == before  # raw is sacred


def test_each_line_is_one_write_and_on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []
    write_, sync = os.write, os.fsync

    def writing(file: int, data: bytes) -> int:
        calls.append(("write", data.count(b"\n")))
        return write_(file, data)

    def syncing(file: int) -> None:
        calls.append(("sync", 0))
        sync(file)

    with JournalFile(path) as opened:
        monkeypatch.setattr(os, "write", writing)
        monkeypatch.setattr(os, "fsync", syncing)
        for line in LINES[:3]:
            opened.append(line)
        monkeypatch.undo()
    assert calls == [("write", 1), ("sync", 0)] * 3


def half(file: int, data: bytes, write_: Callable[[int, bytes], int] = os.write) -> int:
    return write_(file, data[: len(data) // 2])


full = failing(errno.ENOSPC)


@pytest.mark.parametrize(
    ("writing", "said"), [(half, "the disk took "), (full, "No space left on device. Make room")]
)
def test_full_disk_is_an_error_and_costs_only_the_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, writing: Callable[..., int], said: str
) -> None:
    with JournalFile(path) as opened:
        for line in LINES[:3]:
            opened.append(line)
        monkeypatch.setattr(os, "write", writing)
        with pytest.raises(ScalingError, match=said) as told:
            opened.append(LINES[3])
        monkeypatch.undo()
    assert told.value.exit_code == 1
    assert replayed(path) == (HEAD, RUNS[:2])
    write(path, *LINES[3:])
    assert replayed(path) == (HEAD, RUNS)


def replace_it(path: Path) -> None:
    path.unlink()
    path.write_text("mine")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 10)


def move(path: Path) -> None:
    path.rename(path.with_name("moved"))


@pytest.mark.parametrize(
    ("harm", "said", "kept_in", "kept"),
    [
        (Path.unlink, r"removed by another program.*to go on", FILE_NAME, RUNS[:2]),
        (replace_it, r"All of it is in \S*-saved-1.jsonl again", "journal-saved-1.jsonl", RUNS[:2]),
        (move, r"replaced by another program.*put that back", "moved", RUNS[:2]),
        (cut, "changed by another program", FILE_NAME, RUNS[1:2]),
    ],
    ids=["removed", "another in its place", "moved", "cut"],
)
def test_what_another_program_does_to_it_loses_no_other_line(
    path: Path, harm: Callable[[Path], object], said: str, kept_in: str, kept: list[RunLine]
) -> None:
    with JournalFile(path) as opened:
        opened.append(HEAD)
        opened.append(RUNS[0])
        harm(path)
        with pytest.raises(ScalingError, match=said):
            opened.append(RUNS[1])
    assert replayed(path.with_name(kept_in)) == (HEAD, kept)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.5, SYNCED])
def test_a_killed_writer_loses_and_doubles_no_line(tmp_path: Path, place: float) -> None:
    assert killed(tmp_path / "a", b"", 3, place) == {}


def test_what_is_looked_at_after_a_fault_finds_harm(path: Path) -> None:
    write(path, *LINES, RUNS[0])
    (path.parent / "tmp").mkdir()
    (path.parent / "tmp" / "left").touch()
    assert isinstance(RUNS[0], RunLine)
    unknown = (9, RUNS[0].cell, 1)
    after = After(path.parent, [unknown], (FILE_NAME, "tmp"), "Traceback …", "exit code 1")
    found = checked(after, started=False)
    assert {name: len(each) for name, each in found.items()} == dict.fromkeys(
        ("failed", "traceback", "lost", "doubled", "files"), 1
    )
