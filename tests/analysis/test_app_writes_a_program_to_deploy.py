"""`scaling app --write` writes the tested program to a new file, for what it can serve."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from scaling.report.deploy.commands import PROGRAMS, write_program
from tests.support.cli import Command


def test_what_is_written_is_what_is_tested(tmp_path: Path) -> None:
    for interface, program in PROGRAMS.items():
        write_program(tmp_path / f"{interface}.py", interface)
        assert (tmp_path / f"{interface}.py").read_bytes() == program.read_bytes()


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


def test_a_file_that_exists_is_left_alone(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "serve.py"
    file.write_text("mine")
    done = command("app", "shop:app", "--write", str(file))
    assert done.returncode == 2
    assert "the file exists" in done.stderr
    assert file.read_text() == "mine"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gunicorn --worker-class gthread"):
        write_program(tmp_path / "serve.py", "wsgi")  # it needs no program
    assert not (tmp_path / "serve.py").exists()
    with pytest.raises(UsageError, match="cannot be written"):
        write_program(tmp_path / "no" / "serve.py", "asgi")
