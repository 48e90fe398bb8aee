"""A file that is no journal of this study is refused with a message and exit code 2, unchanged."""

import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from scaling.base.errors import UsageError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.reading import find_journal
from scaling.journal.record import encode_line
from tests.support.children import environment
from tests.support.fabricate import Made, journal

HEAD, *RUNS = journal(Made(workers=(1,), blocks=1))


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        JournalFile(path)
    assert refused.value.exit_code == 2
    assert "--output DIR" in str(refused.value)
    return str(refused.value)


def another(path: Path, then: str) -> str:
    """What another process says that opens the journal, too."""
    program = f"""
import os, sys
from pathlib import Path
from scaling.journal.file import JournalFile
from scaling.journal.reading import find_journal
with JournalFile(Path(sys.argv[1])):
    {then}
"""
    return subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    ).stderr


@pytest.mark.parametrize("line", [0, 1])
def test_newer_schema(tmp_path: Path, line: int) -> None:
    lines = [msgspec.json.decode(encode_line(each)) for each in (HEAD, *RUNS)]
    lines[line]["schema"] = 2
    path = tmp_path / FILE_NAME
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lines) + b"torn")
    before = path.read_bytes()
    assert "was written by a newer scaling (journal schema 2, this one writes 1)" in refusal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"Dear diary,\nnothing today",
        b"Dear diary",
        b"Dear diary" + b"\x00" * 99,
        b"\n",
        b"\x00" * 99 + b"\n" + encode_line(RUNS[0]),
        encode_line(RUNS[0]),
    ],
    ids=["lines", "line", "line-then-zeros", "empty-line", "zeros-then-a-run", "no-study"],
)
def test_a_file_that_is_no_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    assert "line 1 does not describe a study" in refusal(path)
    assert path.read_bytes() == content


@pytest.mark.slow
def test_second_writer(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with JournalFile(path) as opened:
        opened.append(HEAD)
        assert "is being written by another study right now" in refusal(path)
        assert "being written by another study" in another(path, "pass")
    with JournalFile(path) as opened:
        assert opened.head == HEAD


@pytest.mark.slow
def test_writer_that_was_killed_does_not_keep_it_locked(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    assert another(path, "os.kill(os.getpid(), 9)") == ""
    with JournalFile(path) as opened:
        assert opened.head is None


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    said = refusal(tmp_path / "file" / "study" / FILE_NAME)
    assert said.startswith(f"cannot write to {tmp_path / 'file' / 'study'}: a part of this path is")
    said = refusal(tmp_path / "file" / FILE_NAME)
    assert said.startswith(f"cannot write to {tmp_path / 'file'}: it is a file, not a folder")


def test_journal_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    assert "Is a directory" in refusal(tmp_path / FILE_NAME)


def test_refusing_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text("Dear diary\n")
    before = psutil.Process().num_fds()
    for _ in range(3):
        refusal(path)
    assert psutil.Process().num_fds() == before


def test_a_folder_of_studies_names_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE_NAME).touch()
    with pytest.raises(UsageError, match="name a folder inside that has one: a, b"):
        find_journal(tmp_path)
    with pytest.raises(UsageError, match="begin one with: scaling run"):
        find_journal(tmp_path.parent / "none")
