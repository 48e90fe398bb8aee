"""Whatever happened to a journal, what can be read is read, and the rest is named or refused."""

import gzip
from pathlib import Path

import pytest

import scaling
from scaling.analysis.table.load import JournalWarning, read_journal
from scaling.base.errors import UsageError
from scaling.journal.record import encode_line
from tests.support.fabricate import Made, journal

LINES = [encode_line(line) for line in journal(Made(workers=(1, 2), blocks=2, ticks=2))]


def written(path: Path, *parts: bytes) -> Path:
    file = path / "journal.jsonl"
    file.write_bytes(b"".join(parts))
    return file


def test_a_torn_last_line_is_passed_over_in_silence(tmp_path: Path) -> None:
    assert len(scaling.load(written(tmp_path, *LINES[:4], LINES[4][:-40]))) == 3


def test_a_whole_last_line_without_its_newline_counts(tmp_path: Path) -> None:
    assert len(scaling.load(written(tmp_path, *LINES[:3], LINES[3].rstrip(b"\n")))) == 3


def test_rubbish_in_the_middle_is_skipped_and_reported_by_line_number(tmp_path: Path) -> None:
    rubbish = [b'{"kind":"run","cell":{"work\n', b"\xff\xfe\x00\n", b'{"kind":"run"}\n', b"\n"]
    file = written(tmp_path, *LINES[:2], *rubbish, *LINES[2:])
    with pytest.warns(JournalWarning) as told:
        frame = scaling.load(file)
    assert len(frame) == 4
    numbers = [str(warning.message).partition("line ")[2].partition(" ")[0] for warning in told]
    assert numbers == ["3", "4", "5"]


def test_deeply_nested_rubbish_is_rubbish_too(tmp_path: Path) -> None:
    found = read_journal(written(tmp_path, *LINES[:2], b"[" * 100_000 + b"\n", LINES[2]))
    assert len(found.frame) == 2
    assert len(found.notes) == 1


def test_kinds_and_fields_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    later = LINES[1].replace(b'{"kind":"run",', b'{"kind":"run","later":{"a":[1]},')
    file = written(tmp_path, LINES[0], b'{"kind":"weather","sunny":true}\n', later)
    assert len(scaling.load(file)) == 1


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    newer = LINES[0].replace(b'"schema":1', b'"schema":2')
    with pytest.raises(
        UsageError, match=r"was written by a newer scaling \(journal schema 2, this one reads 1\)"
    ):
        scaling.load(written(tmp_path, newer, *LINES[1:]))


def test_a_newer_schema_is_refused_even_if_its_study_line_looks_different(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="newer scaling"):
        scaling.load(written(tmp_path, b'{"kind":"study","schema":7,"name":["a"]}\n'))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the journal is empty"),
        (b"\n", "the journal is empty"),
        (LINES[0], "holds no run yet"),
        (LINES[0] + LINES[1][:100], "holds no run yet"),
        (LINES[0][:100], "its only line was cut off, so nothing was measured"),
        (b"a,b\n1,2\n", "not a journal of scaling"),
        (b"\n<!doctype html>\n", "not a study folder"),
        (LINES[1], "the study line is missing"),
        (b'{"kind":"study","schema":1}\n', "the first line cannot be read"),
        (LINES[0] + LINES[1] + LINES[0], "a second study begins at line 3"),
    ],
)
def test_what_is_no_journal_is_refused_with_a_reason(
    tmp_path: Path, content: bytes, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        scaling.load(written(tmp_path, content))


def test_what_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file or folder.*scaling run"):
        scaling.load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no journal\.jsonl in this folder.*scaling run"):
        scaling.load(tmp_path)
    with pytest.raises(UsageError, match="no journal was named"):
        scaling.load([])


def test_a_page_beside_a_journal_names_its_folder(tmp_path: Path) -> None:
    written(tmp_path, *LINES)
    (tmp_path / "report.html").write_text("\n<!doctype html>\n")
    with pytest.raises(UsageError, match=f"report.html: not a study folder.*{tmp_path}$"):
        scaling.load(tmp_path / "report.html")


def test_a_gzipped_journal_may_be_cut_short(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(LINES))
    file = tmp_path / "journal.jsonl.gz"
    file.write_bytes(whole[: len(whole) * 4 // 5])
    found = read_journal(file)
    assert 1 <= len(found.frame) < len(LINES) - 1
    file.write_bytes(b"no gzip at all")
    with pytest.raises(UsageError, match="cannot be read"):
        read_journal(file)


def test_a_journal_cut_at_any_byte_gives_its_whole_lines(tmp_path: Path) -> None:
    whole = b"".join(LINES)
    first = len(LINES[0]) + len(LINES[1])
    for cut in range(first, len(whole), 613):
        found = read_journal(written(tmp_path, whole[:cut]))
        assert found.notes == []
        assert len(found.frame) in {whole[:cut].count(b"\n") - 1, whole[:cut].count(b"\n")}
