"""`scaling app --write` writes a program to a new file, for what needs one.

That it runs is tested in `tests/workers/test_serve_py_runs_n_loops_in_threads.py`.
"""

from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.report.view.deploy import write_program
from tests.support.cli import Command


def test_a_file_that_exists_is_left_alone(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "serve.py"
    file.write_text("mine")
    done = command("app", "shop:app", "--write", str(file))
    assert done.returncode == 2
    assert "the file exists" in done.stderr
    assert file.read_text() == "mine"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gunicorn --worker-class gthread"):
        write_program(tmp_path / "serve.py", "wsgi", "shop:app", factory=False)
    assert not (tmp_path / "serve.py").exists()
    with pytest.raises(UsageError, match="cannot be written"):
        write_program(tmp_path / "no" / "serve.py", "asgi", "shop:app", factory=False)
