"""The shapes of the record are what a child prints, and there are no paths in it."""

import json
import re
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from scaling.journal.record import decode_record
from scaling.run.redaction import without_paths
from tests.support.children import ROOT, Own, failure_of, finish, unknown_keys

pytestmark = pytest.mark.one_build


@pytest.mark.slow
def test_every_field_that_a_child_prints_is_known() -> None:
    printed = finish({"workload": "compute", "model": "processes", "workers": 2}).stdout
    record = decode_record(printed)
    assert record.outcome == "measured"
    assert unknown_keys(json.loads(printed), msgspec.to_builtins(record)) == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('File "/opt/x/lib/python3.14t/asyncio/a.py", line 3', 'File "asyncio/a.py", line 3'),
        (r"File \"/v/lib/python3.14/site-packages/p/q.py\", li", r"File \"p/q.py\", li"),
        ('Binary file "/opt/x/bin/python3.14t", at', 'Binary file "python3.14t", at'),
        ('File "<string>", line 1', 'File "<string>", line 1'),
        ("see /code/workers/session.py:7", "see workers/session.py:7"),
        ("http://127.0.0.1:8000/item?id=7 in stories/s", None),
        ("\xff\xfe", None),
        ("/v/lib/python3.14/site-packages/p/q.py:7: UserWarning: no", "p/q.py:7: UserWarning: no"),
        ("cannot import 'a' from 'b' (/home/x/b.py)", "cannot import 'a' from 'b' (b.py)"),
        ("GET (/item?id=7)", None),
        ("'/code' is no file, /coder/x neither", "'.' is no file, /coder/x neither"),
        (r"gone:\n/other/list.txt", r"gone:\nlist.txt"),
    ],
)
def test_only_paths_are_shortened(said: str, shown: str | None) -> None:
    data = said.encode("latin-1")
    expected = data if shown is None else shown.encode()
    assert without_paths(data, ["/code", "/other/", "", ".", "/"]) == expected


def test_a_file_of_ours_keeps_its_folder_and_that_of_a_user_does_not(tmp_path: Path) -> None:
    """So that what ours raises can be told from what an application does."""
    for folder, shown in ((ROOT, "workers/cell.py"), (tmp_path, "cell.py")):
        said = f'File "{folder}/workers/cell.py", line 3'.encode()
        assert without_paths(said, [str(folder)]) == f'File "{shown}", line 3'.encode()


def test_users_folder_is_a_tilde_however_json_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert without_paths(b"no '/home/ada', no /home/adam", []) == b"no '~', no /home/adam"
    assert without_paths(b"no /home/ada/data/x.csv", ["/home"]) == b"no ~/data/x.csv"
    monkeypatch.setenv("HOME", "/")
    assert without_paths(b"no /data/x.csv", []) == b"no /data/x.csv"
    monkeypatch.setenv("HOME", "/home/zoë")
    for said in ("no '/home/zoë/x.csv'", 'File "/home/zoë/y.py", line 3', "in (/home/zoë/z.so)"):
        shown = without_paths(json.dumps(said).encode(), [])
        assert "zo" not in json.loads(shown)
        assert shown == without_paths(json.dumps(said, ensure_ascii=False).encode(), [])


REPORTS = """
    import email.utils, faulthandler, tempfile, warnings

    @dataclass
    class Theirs(Workload):
        crashes: bool = parameter(False, "whether it does")

        async def setup(self, worker: Worker) -> None:
            if self.crashes:
                faulthandler._sigsegv()
            warnings.warn("old")
            folders = [sys.prefix, sys.executable, os.getcwd(), tempfile.gettempdir()]
            raise ValueError(f"{folders} {os.environ['SCALING_CACHE']}/x")
    """


@pytest.mark.slow
def test_nothing_that_a_child_is_made_of_is_named(
    own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cäche"
    folder.mkdir()
    monkeypatch.setenv("SCALING_CACHE", str(folder))
    own.variables["SCALING_CACHE"] = str(folder)
    ending = own.driven(REPORTS)
    failure = failure_of(ending)
    crashed = own.driven(REPORTS, parameters={"crashes": True}).stderr
    assert "theirs.py:" in ending.stderr
    assert 'File "theirs.py", line' in failure.traceback
    assert re.search(r'File "theirs.py", line \d+ in setup', crashed)
    for said in (failure.error, failure.traceback, ending.stderr, crashed):
        for path in (sys.prefix, Path.cwd(), folder, tempfile.gettempdir(), tmp_path):
            assert str(path) not in said
