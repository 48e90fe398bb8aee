"""`scaling app --write` writes the tested program to a new file, for what it can serve."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.cli import main
from scaling.report.deploy.commands import PROGRAMS, write_program


@pytest.mark.parametrize("interface", PROGRAMS)
def test_what_is_written_is_what_is_tested(tmp_path: Path, interface: str) -> None:
    write_program(tmp_path / "serve.py", interface)
    assert (tmp_path / "serve.py").read_bytes() == PROGRAMS[interface].read_bytes()


def test_programs_deal_connections_in_the_same_way() -> None:
    asgi, aiohttp = (
        next(
            ast.unparse(each)
            for each in ast.parse(program.read_text(encoding="utf-8")).body
            if isinstance(each, ast.FunctionDef) and each.name == "deal"
        )
        for program in PROGRAMS.values()
    )
    assert asgi == aiohttp


@pytest.mark.parametrize("program", PROGRAMS.values())
def test_no_worker_is_refused(program: Path) -> None:
    command = [sys.executable, str(program), "shop:make", "--workers", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--workers is 0; it takes 1 or more" in done.stderr


def test_a_file_that_exists_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serve.py"
    file.write_text("mine")
    monkeypatch.setattr("sys.argv", ["scaling", "app", "shop:app", "--write", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "the file exists" in capsys.readouterr().err
    with pytest.raises(UsageError, match="the file exists"):
        write_program(file, "asgi")
    assert file.read_text() == "mine"


def test_wsgi_needs_no_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gunicorn --worker-class gthread"):
        write_program(tmp_path / "serve.py", "wsgi")
    assert not (tmp_path / "serve.py").exists()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_program(tmp_path / "no" / "serve.py", "asgi")
