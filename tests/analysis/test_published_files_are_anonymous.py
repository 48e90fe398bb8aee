"""Nothing that is published contains a path, or the name of a user or a machine."""

import platform
from pathlib import Path

import pytest
from rich.console import Console

from scaling.base.errors import ScalingError
from scaling.journal.record import RunLine
from scaling.report.publish import names_in, publish, unpacked
from tests.support.fabricate import Made, journal, with_, write
from tests.support.published import FOLDERS, name_of


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_no_published_file_names_anyone(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            assert list(names_in(unpacked(file).decode())) == [], file.name


@pytest.mark.parametrize(
    "text",
    [
        'File "/home/ann/project/theirs.py", line 3',
        r'{"stderr":"Traceback\n/tmp/x/theirs.py:3: a warning"}',
        r"C:\Users\ann\theirs.py",
        r'"C:\\Users\\ann"',
        "(/Users/ann)",
        "cannot open '/var/lib/ann'",
        str(Path.home() / "theirs.py"),
    ],
)
def test_paths_are_found(text: str) -> None:
    assert [name.line for name in names_in(f"first\n{text}\n")][:1] == [2]


def test_this_machine_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "anns-laptop")
    assert [name.text for name in names_in("on anns-laptop, not on anns-laptop-2")] == [
        "anns-laptop"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/home/page",
        "GET /item?id=7",
        "asyncio/tasks.py",
        "~/data/x",
        "round trips/work/s",
        "/usr/lib/libc.so",
        "scaling/data/x",
    ],
)
def test_what_names_nobody_is_none(text: str) -> None:
    assert list(names_in(text)) == []


def test_a_journal_that_does_is_not_published(tmp_path: Path) -> None:
    def talkative(run: RunLine) -> RunLine:
        return with_(run, stderr="see /home/ann/notes.txt")

    lines = journal(Made(workers=(1,), blocks=1, ticks=4), talkative)
    write(lines, tmp_path / "journal.jsonl")
    with pytest.raises(ScalingError, match="line 2 names '/home/ann'") as told:
        publish(tmp_path, tmp_path / "out", Console(quiet=True))
    assert told.value.exit_code == 1
    assert not (tmp_path / "out").exists()
