"""A file that is written again is the old one or the new one; what killed writers left goes."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.base.files import whole

KILLED = """
import os, sys
from pathlib import Path
from scaling.base.files import whole
with whole(Path(sys.argv[1])) as unfinished:
    unfinished.write_text("half")
    os.kill(os.getpid(), 9)
"""


def left_by_a_killed_writer(file: Path) -> Path:
    subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    (left,) = (each for each in file.parent.iterdir() if each != file)
    assert left.read_text() == "half"
    return left


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), whole(file) as unfinished:
        unfinished.write_text(str(1 / 0))
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("page.html", "old")]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    left = left_by_a_killed_writer(file)
    assert file.read_text() == "old"
    with whole(file) as unfinished:
        unfinished.write_text("new")
    assert not left.exists()
    assert file.read_text() == "new"


def test_what_a_writer_on_another_host_has_not_finished_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    left = left_by_a_killed_writer(file)
    monkeypatch.setattr(platform, "node", lambda: "another-host")
    with whole(file) as unfinished:
        unfinished.write_text("new")
    assert left.exists()  # its process id is one of that host, where it may still be writing
    assert platform.node() not in unfinished.name
    assert unfinished.name.endswith(f".{os.getpid()}")
