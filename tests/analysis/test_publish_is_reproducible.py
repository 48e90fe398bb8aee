"""A study is published whole, the same each time, without a name of anybody, and never in the place
of anything else.
"""

import gzip
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.report.publish import PAGE, names_in, publish, unpacked
from tests.support.html_outline import Outline
from tests.support.published import FOLDERS, name_of
from tests.support.runs import with_
from tests.support.studies import FakeStudy, write

QUIET = new_console(quiet=True)
STUDY = FakeStudy(variants={"echo": [{}]}, workers=(1, 2), blocks=1, ticks=4)
LINES = STUDY.lines


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return STUDY.write(tmp_path_factory.mktemp("results") / "study").parent


@pytest.fixture(scope="module")
def published(results: Path) -> Path:
    folder = results.parent / "here" / "study"
    publish(results, folder, QUIET)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.slow
def test_all_of_it_is_there_and_nothing_beside_it(results: Path, published: Path) -> None:
    found = contents(published)
    plots = {name for name in found if name.startswith("plots/")}
    tables = {"tables.md", "summary.csv", "comparison.csv"}
    others = {"journal.jsonl.gz", "environment.json", "index.html"}
    assert set(found) - plots == {*others, *tables}
    assert plots
    assert all(name.endswith(".svg") for name in plots)
    assert gzip.decompress(found["journal.jsonl.gz"]) == (results / "journal.jsonl").read_bytes()
    assert [file.name for file in published.parent.iterdir()] == [published.name]
    shown = Outline((published / PAGE).read_text(encoding="utf-8"))
    assert {each.attributes["src"] for each in shown.all("img")} == plots
    assert all(each.attributes["alt"] for each in shown.all("img"))
    assert not shown.all("svg")


@pytest.mark.slow
def test_again_it_is_the_same_and_what_is_not_made_any_more_goes(published: Path) -> None:
    """Of a journal that another zlib packed, the bytes stay."""
    journal = published / "journal.jsonl.gz"
    other = gzip.compress(gzip.decompress(journal.read_bytes()), compresslevel=1, mtime=0)
    journal.write_bytes(other)
    first = contents(published)
    (published / "plots" / "old-weak-throughput.svg").write_text("old")
    (published / "plots" / "old-weak-throughput.png").write_text("old")
    (published / "tables.md").write_text("old")
    (published / "NOTES.md").write_text("mine")
    publish(published, published, QUIET)  # from what is published alone
    (published / "NOTES.md").unlink()  # raises if it is gone
    assert contents(published) == first


@pytest.mark.usefixtures("undrawn")
def test_more_of_the_same_study_may_take_its_place_another_may_not(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    another = FakeStudy(workers=(1,), blocks=1).lines
    for number, lines in enumerate((LINES[:2], LINES, another)):
        (tmp_path / str(number)).mkdir()
        write(lines, tmp_path / str(number) / "journal.jsonl")
    publish(tmp_path / "0", folder, QUIET)
    publish(tmp_path / "1", folder, QUIET)
    assert len(read_journal(folder).frame) == len(LINES) - 1
    before = contents(folder)
    for other in ("0", "2"):  # less than there is, and something else
        with pytest.raises(UsageError, match=r"has another study: .* use --replace"):
            publish(tmp_path / other, folder, QUIET)
    assert contents(folder) == before
    publish(tmp_path / "0", folder, QUIET, replace=True)
    assert len(read_journal(folder).frame) == 1


def test_a_folder_of_something_else_is_left_alone(results: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    for folder in (results, tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(UsageError, match="has other files: give each study a folder of"):
            publish(results, folder, QUIET, replace=True)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_cannot_be_written_leaves_what_was_there(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(published)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scaling.report.files.write_csv", full)
    with pytest.raises(ScalingError, match=r"cannot be written \(No space left"):
        publish(published, published, QUIET)
    assert contents(published) == before
    assert [file.name for file in published.parent.iterdir()] == [published.name]
    (tmp_path / "journal.jsonl.gz").write_bytes(before["journal.jsonl.gz"][:-12])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        publish(tmp_path, tmp_path / "out", QUIET)
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_no_published_file_names_anyone(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            assert list(names_in(unpacked(file).decode())) == [], file.name


def test_paths_and_this_machine_are_found_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "anns-laptop")
    for text in (
        'File "/home/ann/project/theirs.py", line 3',
        r'{"stderr":"Traceback\n/tmp/x/theirs.py:3: a warning"}',
        r"C:\Users\ann\theirs.py",
        r'"C:\\Users\\ann"',
        "(/Users/ann)",
        "cannot open '/var/lib/ann'",
        str(Path.home() / "theirs.py"),
        "on anns-laptop, not on anns-laptop-2",
    ):
        assert [line for line, _ in names_in(f"first\n{text}\n")][:1] == [2], text
    for text in (
        *("http://127.0.0.1:8080/home/page", "GET /item?id=7", "asyncio/tasks.py", "~/data/x"),
        *("round trips/work/s", "/usr/lib/libc.so", "scaling/data/x", "on anns-laptop-2"),
    ):
        assert list(names_in(text)) == [], text


def test_a_journal_that_names_somebody_is_not_published(tmp_path: Path) -> None:
    talkative = replace(STUDY, change=lambda run: with_(run, stderr="see /home/ann/notes.txt"))
    talkative.write(tmp_path)
    with pytest.raises(ScalingError, match="line 2 names '/home/ann'") as told:
        publish(tmp_path, tmp_path / "out", QUIET)
    assert told.value.exit_code == 1
    assert not (tmp_path / "out").exists()
