"""Whatever happened to a journal, what can be read is read, and the rest is named or refused.

A writer refuses, with exit code 2 and unchanged, a file that is no journal of this study."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import scaling
from scaling.analysis.table.load import JournalWarning, read_journal
from scaling.base.errors import UsageError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.reading import find_journal
from scaling.journal.record import encode_line
from tests.support.children import environment
from tests.support.studies import FakeStudy

WHOLE = [encode_line(line) for line in FakeStudy(workers=(1, 2), blocks=2, ticks=2).lines]


def written(path: Path, *parts: bytes) -> Path:
    file = path / "journal.jsonl"
    file.write_bytes(b"".join(parts))
    return file


LATER = WHOLE[1].replace(b'{"kind":"run",', b'{"kind":"run","later":{"a":[1]},')


@pytest.mark.parametrize(
    ("lines", "runs", "notes"),
    [
        pytest.param([*WHOLE[:2], b"[" * 100_000 + b"\n", WHOLE[2]], 2, 1, id="deep rubbish"),
        pytest.param(
            [WHOLE[0], b'{"kind":"weather","sunny":true}\n', LATER], 1, 0, id="of a later version"
        ),
    ],
)
def test_what_can_be_read_is_read(
    tmp_path: Path, lines: list[bytes], runs: int, notes: int
) -> None:
    found = read_journal(written(tmp_path, *lines))
    assert (len(found.frame), len(found.notes)) == (runs, notes)


@pytest.mark.parametrize("number", [b"o", b"0a", b'0"', b"true", b"0:"])
def test_damaged_ticks_make_their_own_run_invalid(number: bytes, tmp_path: Path) -> None:
    damaged = WHOLE[2].replace(b'"errors":[0,', b'"errors":[%b,' % number)
    frame = read_journal(written(tmp_path, *WHOLE[:2], damaged, *WHOLE[3:])).frame
    assert frame["reasons"].tolist() == [(), ("garbled",), (), ()]


def test_rubbish_in_the_middle_is_skipped_and_reported_by_line_number(tmp_path: Path) -> None:
    rubbish = [b'{"kind":"run","cell":{"work\n', b"\xff\xfe\x00\n", b'{"kind":"run"}\n', b"\n"]
    file = written(tmp_path, *WHOLE[:2], *rubbish, *WHOLE[2:])
    with pytest.warns(JournalWarning) as told:
        frame = scaling.load(file)
    assert len(frame) == 4
    numbers = [str(warning.message).partition("line ")[2].partition(" ")[0] for warning in told]
    assert numbers == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the journal is empty"),
        (WHOLE[0], "holds no run yet"),
        (WHOLE[0][:100], "its only line was cut off, so nothing was measured"),
        (b"a,b\n1,2\n", "not a journal of scaling"),
        (b"\n<!doctype html>\n", "not a study folder"),
        (WHOLE[1], "the study line is missing"),
        (b'{"kind":"study","schema":1}\n', "the first line cannot be read"),
        (WHOLE[0] + WHOLE[1] + WHOLE[0], "a second study begins at line 3"),
        (
            b"".join(WHOLE).replace(b'"schema":1', b'"schema":2', 1),
            r"was written by a newer scaling \(journal schema 2, this one reads 1\)",
        ),
    ],
)
def test_what_is_no_journal_is_refused_with_a_reason(
    tmp_path: Path, content: bytes, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        scaling.load(written(tmp_path, content))


def test_a_gzipped_journal_may_be_cut_short(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(WHOLE))
    file = tmp_path / "journal.jsonl.gz"
    file.write_bytes(whole[: len(whole) * 4 // 5])
    found = read_journal(file)
    assert 1 <= len(found.frame) < len(WHOLE) - 1
    file.write_bytes(gzip.compress(b"".join(WHOLE)[:-1]))  # the last line lacks nothing but its end
    assert len(read_journal(file).frame) == len(WHOLE) - 1
    file.write_bytes(b"no gzip at all")
    with pytest.raises(UsageError, match="cannot be read"):
        read_journal(file)


def test_a_journal_cut_at_any_byte_gives_its_whole_lines(tmp_path: Path) -> None:
    whole = b"".join(WHOLE)
    first = len(WHOLE[0]) + len(WHOLE[1])
    for cut in range(first, len(whole), 1_201):
        found = read_journal(written(tmp_path, whole[:cut]))
        assert found.notes == []
        assert len(found.frame) in {whole[:cut].count(b"\n") - 1, whole[:cut].count(b"\n")}


HEAD, *RUNS = FakeStudy(workers=(1,), blocks=1).lines


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        JournalFile(path)
    assert refused.value.exit_code == 2
    assert "--output DIR" in str(refused.value)
    return str(refused.value)


OPENS = """
import sys
from pathlib import Path
from scaling.journal.file import JournalFile
JournalFile(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"Dear diary,\nnothing today", "line 1 does not describe a study"),
        (b"\x00" * 99 + b"\n" + encode_line(RUNS[0]), "line 1 does not describe a study"),
        (
            encode_line(HEAD).replace(b'"schema":1', b'"schema":2', 1) + b"torn",
            "was written by a newer scaling (journal schema 2, this one writes 1)",
        ),
    ],
)
def test_a_file_that_is_no_journal_of_this_version(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    assert told in refusal(path)
    assert path.read_bytes() == content


@pytest.mark.slow
def test_second_writer(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with JournalFile(path) as opened:
        opened.append(HEAD)
        assert "is being written by another study right now" in refusal(path)
        another = subprocess.run(
            [sys.executable, "-c", OPENS, str(path)],
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert "being written by another study" in another.stderr
    with JournalFile(path) as opened:
        assert opened.head == HEAD


def test_a_folder_of_studies_names_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE_NAME).touch()
    with pytest.raises(UsageError, match="name a folder inside that has one: a, b"):
        find_journal(tmp_path)
    with pytest.raises(UsageError, match=r"no such file or folder.*scaling run"):
        scaling.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no journal\.jsonl in this folder.*scaling run"):
        scaling.load(tmp_path / "empty")
