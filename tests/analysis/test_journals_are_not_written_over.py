"""Nothing is written over a journal, by whatever name or link it is reached."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.protected_write import holds_journal, write_file
from scaling.report.exports import export
from scaling.report.files import AGAIN
from scaling.report.output import write_again
from tests.support.cli import Command
from tests.support.served_studies import timed
from tests.support.studies import FakeStudy

QUIET = new_console(quiet=True)
STUDY = FakeStudy(workers=(1,), blocks=1, ticks=4, change=timed)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return STUDY.write(tmp_path / "study").parent


def itself(results: Path) -> Path:
    return results / "journal.jsonl"


def another_name(results: Path) -> Path:
    return itself(results).rename(results / "kept.csv")


def packed(results: Path) -> Path:
    file = results / "kept.parquet"
    file.write_bytes(gzip.compress(itself(results).read_bytes()))
    return file


def linked(results: Path) -> Path:
    (results / "link.csv").symlink_to(itself(results))
    return results / "link.csv"


def newer(results: Path) -> Path:
    file = results / "newer.csv"
    file.write_bytes(itself(results).read_bytes().replace(b'"schema":1', b'"schema":99', 1))
    return file


def a_name_that_would_be_taken_for_one(results: Path) -> Path:
    return results.parent / "journal.jsonl.gz"


WAYS = (*(itself, another_name, packed, linked, newer, a_name_that_would_be_taken_for_one),)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
def test_a_journal_stays_as_it_is(way: Callable[[Path], Path], results: Path) -> None:
    """The place is looked at before anything is made."""
    file = way(results)
    before = {each: each.read_bytes() for each in results.iterdir()}
    with pytest.raises(UsageError, match="is a journal and is not overwritten"):
        write_file(file, lambda _: pytest.fail("was made"), AGAIN)
    assert {each: each.read_bytes() for each in results.iterdir()} == before
    assert not a_name_that_would_be_taken_for_one(results).exists()


@pytest.mark.usefixtures("undrawn")
def test_a_file_of_a_study_that_is_a_link_to_it_is_not_written(results: Path) -> None:
    before = itself(results).read_bytes()
    for name in ("runs.csv", "summary.csv"):
        (results / name).symlink_to(itself(results))
    with pytest.raises(UsageError, match="is a journal and is not overwritten"):
        export(results, ["csv"], None, QUIET)
    with pytest.raises(UsageError, match="is a journal and is not overwritten"):
        write_again(results, None, QUIET)
    assert itself(results).read_bytes() == before


def test_any_other_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"", b"{}", b"\x1f\x8b", b"PAR1\x00\xff", b"study,arm\n", b"["):
        file.write_bytes(content)
        assert not holds_journal(file)
    assert not holds_journal(tmp_path / "nothing")


def test_they_are_beside_the_journal_unless_a_folder_is_named(
    results: Path, command: Command
) -> None:
    done = command("report", "study", "--to", "csv,bencher")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "written: study/runs.csv\nwritten: study/bencher.json\n"
    assert (results / "runs.csv").is_file()
    assert len(read_journal(results).frame) == 1
    done = command("report", "study", "--to", "csv", "--output", "there")
    assert done.stdout == "written: there/runs.csv\n"
