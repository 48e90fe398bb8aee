"""An old Python, or one without a package: one line that says what to install, and exit code 2."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import scaling
from scaling.cli import main
from tests.support.children import ROOT

pytestmark = pytest.mark.slow

# What runs before any package is imported, as on that Python: `-S` leaves site-packages out.
PRETENDED = (
    "import runpy, sys; sys.version_info = (3, 11, 2, 'final', 0);"
    "sys.argv = ['scaling', 'show', 'x']; runpy.run_module({!r}, run_name='__main__')"
)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", *arguments]
    variables = {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("module", "code", "says"),
    [
        ("scaling", 2, "scaling: this is Python 3.11.2, and scaling needs 3.12 or newer."),
        ("workers", 1, "workers: Python 3.12 or newer is needed; install one:"),
        ("workers.services.load", 1, "workers: Python 3.12 or newer is needed; install one:"),
    ],
)
def test_an_old_python(module: str, code: int, says: str, tmp_path: Path) -> None:
    done = run("-c", PRETENDED.format(module), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(says)
    assert "uv python install 3.1" in line


@pytest.mark.parametrize(
    "file", ["scaling/__main__.py", "scaling/__init__.py", "workers/__init__.py"]
)
def test_an_old_python_can_read_what_says_so(file: str) -> None:
    ast.parse((ROOT / file).read_text(encoding="utf-8"), feature_version=(3, 8))


def test_no_packages_at_all(tmp_path: Path) -> None:
    done = run("-m", "scaling", "show", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"scaling: rich is not installed: {sys.executable} -m pip install {ROOT}\n"
    )


def test_a_package_that_a_command_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas.core")

    monkeypatch.setattr("scaling.report.terminal.show.show", without)
    monkeypatch.setattr(sys, "argv", ["scaling", "show", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == f"scaling: pandas is not installed: {sys.executable} -m pip install {ROOT}\n"


def test_a_module_of_our_own_that_is_missing_is_no_mistake_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'scaling.gone'", name="scaling.gone")

    monkeypatch.setattr("scaling.report.terminal.show.show", without)
    monkeypatch.setattr(sys, "argv", ["scaling", "show", "x"])
    with pytest.raises(ModuleNotFoundError):
        main()
    assert scaling.__version__
