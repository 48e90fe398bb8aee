"""0: done. 1: a check failed. 2: it could not be done so, in a line or two. 130, 141: was ended.

A line for each way that was found to end otherwise: where something cannot be written, printed or
asked, on an old Python, without a package. What a study may not be has a file of its own
(`test_study_errors_are_clear`).
"""

import ast
import importlib
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

import scaling.base.gone
import scaling.cli
from scaling.cli import app_steps, program
from scaling.journal.check_file import AppCheck, Finding, read_check
from tests.support.children import ROOT
from tests.support.cli import BUILD, Command, environment
from tests.support.served_studies import FakeAppStudy
from tests.support.studies import FakeStudy

# In a folder with a study, `study`, and a list of requests whose second line is wrong.
REFUSED = f"""
:clown:
show :clown:
plan --arm :clown:
plan --arm {BUILD} --workload no_such:Thing
report study --output page.html
report study --to csv --output study/journal.jsonl/below
publish study study/journal.jsonl/below
gate study --min-efficiency 0.1 --summary study/journal.jsonl/below
run --arm {BUILD} --workload compute --output study/journal.jsonl/below
run --cluster ''
run --cluster one
run --cluster tcp://one:8786
run --cluster tls://127.0.0.1:1
run --cluster tls://one:1 --study scal
run --cluster tls://one:1 --postgres postgresql://b
explain study --path .
explain study --hold 3 --json
ready
ready --app shop.main
ready --app shop.main:app
ready --app shop.main:app --path none
remedies --workload echo --app shop.main:app
remedies --app shop
remedies --study scale
remedies --workload echo --arm 3.14t,3.14t+recv32k
remedies --workload echo --with-requirements a.txt
remedies --app shop:app --with-requirements a.txt
app shop.main
app shop:app --write study/journal.jsonl/below/serve.py
app shop:app --path nowhere
app shop:app --lifespan of
app shop:app --rate 0
app shop:app --slo p99
app shop:app --budget db
app shop:app --pool 4,0
app shop:app --pool 4 --interface wsgi
app shop:app --pool 4 --full
app shop:app --health ready
app shop:app --command 'uvicorn shop:app'
app shop:app --memory much
app shop:app --mixed 1
app shop:app --check --full
app shop:app --env NAME
app shop:app --env PYTHONMALLOC=malloc
app shop:app --requests none.jsonl
app shop:app --requests wrong.jsonl
app shop:app --python-gil no
app shop:app --python-gil no --python-ft no
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    FakeStudy(workers=(1, 2), blocks=6).write(folder)
    return folder


@pytest.mark.usefixtures("undrawn", "study")
def test_what_cannot_be_done_is_said_in_a_line_or_two(
    command: Command, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "wrong.jsonl").write_text('{"path": "/"}\n{"pth": "/"}\n')
    said = {}
    for line in REFUSED.strip().splitlines():
        done = command(*shlex.split(line))
        assert done.returncode == 2, line
        known, *_ = done.stderr.replace(str(tmp_path), "FOLDER").split(" There are: ")
        said[line] = known.splitlines()
        assert len(done.stderr.splitlines()) <= 2, line
    assert said == snapshot


def test_what_2_0_does_not_have_says_what_to_use(command: Command) -> None:
    for name, instead in scaling.base.gone.GONE.items():
        done = command(*(["run", name] if name.startswith("--") else [name, "study"]))
        assert done.returncode == 2
        assert done.stderr == f"scaling: {name} is gone since 2.0. Instead: {instead}\n"


def test_ctrl_c_while_the_program_starts_ends_it_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr(importlib, "import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        importlib.reload(scaling.cli)
    assert ended.value.code == 130


def test_ctrl_c_ends_a_command_in_silence(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "app", interrupted)
    done = command("show", "study")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


GONE, FULL = (141, ""), (2, "scaling: standard output: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "ends"),
    [(["study", "scale"], GONE), (["--help"], FULL)],
)
def test_what_cannot_be_printed(
    arguments: list[str], ends: tuple[int, str], tmp_path: Path
) -> None:
    """Its reader is gone, or the disk is full: `scaling gate | head` is no check that failed."""
    with Path("/dev/full").open("w") if ends == FULL else gone() as out:
        done = subprocess.run(
            [sys.executable, "-m", "scaling", *arguments],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path),
        )
    assert (done.returncode, done.stderr) == ends


def gone() -> Any:
    """The writing end of a pipe that nobody reads."""
    reader = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    reader.wait()
    return reader.stdin


CRASH = Finding(kind="crashed", request="GET /", message="Segmentation fault", remedy="look for it")


@pytest.mark.parametrize("check", [["--check", "--json"], []])
@pytest.mark.usefixtures("undrawn")
def test_an_application_with_findings_fails_the_check_and_can_be_measured(
    check: list[str], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured nevertheless, its findings come before any figure."""
    found = AppCheck(ok=False, findings=[CRASH])

    def measured(*_: object, **__: object) -> Path:
        return FakeAppStudy(blocks=2, window_s=2.0).write(tmp_path / "out").parent

    monkeypatch.setattr(app_steps.AppSteps, "known", lambda self: self)
    monkeypatch.setattr(app_steps.AppSteps, "prepared", lambda self: Prepared())
    monkeypatch.setattr(app_steps, "check_of", lambda *_: found)
    monkeypatch.setattr(app_steps, "announced", lambda *_: ["20 cells"])
    monkeypatch.setattr(app_steps, "folder_of", lambda *_: tmp_path / "out")
    monkeypatch.setattr(app_steps, "try_application", lambda *_: None)
    monkeypatch.setattr(app_steps, "measure", measured)
    done = command("app", "shop:app", *check, "--output", "out")
    assert done.returncode == (1 if check else 0), done.stderr
    assert read_check(tmp_path / "out") == found
    if "--json" in check:
        assert json.loads(done.stdout) == json.loads(msgspec.json.encode(found))
        return
    assert "  crashed (GET /): Segmentation fault" in done.stdout
    said = "Check: 1 finding (crashed): wrong on several loops, so not recommended."
    assert said in done.stdout


class Prepared:
    """A study that needs no preparation."""

    plan = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


# What runs before any package is imported, as on that Python: `-S` leaves site-packages out.
PRETENDED = (
    "import runpy, sys; sys.version_info = (3, 11, 2, 'final', 0);"
    "sys.argv = ['scaling', 'show', 'x']; runpy.run_module({!r}, run_name='__main__')"
)


def run_bare(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", *arguments]
    variables = {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=variables, cwd=cwd, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "code", "says"),
    [
        ("scaling", 2, "scaling: this is Python 3.11.2, and scaling needs 3.12 or newer."),
        ("workers", 1, "workers: Python 3.12 or newer is needed; install one:"),
    ],
)
def test_an_old_python(module: str, code: int, says: str, tmp_path: Path) -> None:
    done = run_bare("-c", PRETENDED.format(module), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(says)
    assert "uv python install 3.1" in line


def test_an_old_python_can_read_what_says_so() -> None:
    for file in ("scaling/__main__.py", "scaling/__init__.py", "workers/__init__.py"):
        ast.parse((ROOT / file).read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.slow
def test_no_packages_at_all(tmp_path: Path) -> None:
    done = run_bare("-m", "scaling", "show", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"scaling: cyclopts is not installed: {sys.executable} -m pip install {ROOT}\n"
    )


def test_a_package_that_a_command_needs_and_a_module_of_our_own(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That ours is missing is no mistake of the user."""

    def lacking(name: str) -> None:
        def without(*_: object, **__: object) -> None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

        monkeypatch.setattr("scaling.report.output.show", without)

    lacking("pandas.core")
    done = command("show", "x")
    said = f"scaling: pandas is not installed: {sys.executable} -m pip install {ROOT}\n"
    assert (done.returncode, done.stderr) == (2, said)
    lacking("scaling.gone")
    with pytest.raises(ModuleNotFoundError):
        command("show", "x")
