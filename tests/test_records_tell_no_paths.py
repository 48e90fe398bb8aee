"""What a run leaves in a journal names files by what they are, not by where they are here."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.driver.child import Child, run_child
from scaling.driver.discreet import without_paths
from tests.children import QUICK, ROOT, environment

FAILS = """
    import email.utils, faulthandler

    @dataclass
    class Theirs(Workload):
        way: Literal["raise", "crash"] = parameter("raise", "how to fail")

        async def setup(self, worker: Worker) -> None:
            if self.way == "crash":
                faulthandler._sigsegv()
            await asyncio.wait_for(self.look(), 5)

        async def look(self) -> None:
            open(os.path.join(os.path.dirname(__file__), "list.txt"))
    """


@pytest.mark.parametrize(("way", "kept"), [("raise", "'list.txt'"), ("crash", "in setup")])
def test_failure_is_told_without_folders(
    theirs: Callable[[str], str], tmp_path: Path, way: str, kept: str
) -> None:
    cell = {"workload": theirs(FAILS), "parameters": {"way": way}, **QUICK}
    ending = run_child(Child(sys.executable, environment(tmp_path)), cell)
    said = (ending.raw_record or b"").decode() + ending.stderr
    assert kept in said
    assert "theirs.py" in said
    for folder in (tmp_path, ROOT, sys.prefix, sys.base_prefix, Path.home()):
        assert f"{folder}/" not in said
    if ending.record and ending.record.failure:
        assert 'File "asyncio/tasks.py", line' in ending.record.failure.traceback
        assert 'File "theirs.py", line' in ending.record.failure.traceback


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('File "/opt/x/lib/python3.14t/asyncio/a.py", line 3', 'File "asyncio/a.py", line 3'),
        (r"File \"/v/lib/python3.14/site-packages/p/q.py\", li", r"File \"p/q.py\", li"),
        ('Binary file "/opt/x/bin/python3.14t", at', 'Binary file "python3.14t", at'),
        ('File "<string>", line 1', 'File "<string>", line 1'),
        ("see /code/workers/life.py:7", "see workers/life.py:7"),
        ("http://127.0.0.1:8000/item?id=7 in stories/s", None),
        ('{"class": "asyncio.unix_events", "a": [1, 2]}', None),
        ("\xff\xfe", None),
    ],
)
def test_only_paths_are_shortened(said: str, shown: str | None) -> None:
    data = said.encode("latin-1")
    expected = data if shown is None else shown.encode()
    assert without_paths(data, {"PYTHONPATH": "/code:/other/"}) == expected


def test_users_folder_is_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert without_paths(b"no /home/ada/data/x.csv", {}) == b"no ~/data/x.csv"
    monkeypatch.setenv("HOME", "/")
    assert without_paths(b"no /data/x.csv", {}) == b"no /data/x.csv"
