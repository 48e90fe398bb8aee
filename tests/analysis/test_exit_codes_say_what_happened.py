"""0: done. 1: a check failed. 2: it could not be done so, in a line or two. 130, 141: was ended.

A line for each way that was found to end otherwise; what a study or an option may not be has files
of its own (`test_study_errors_are_clear`, `test_bad_usage_gets_a_one_line_error`).
"""

import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from scaling.cli import app_steps, program, remedy_steps
from scaling.journal.beside import AppCheck, Finding
from tests.support.applications import application_study
from tests.support.cli import Command, environment
from tests.support.fabricate import Made, journal, write

NOWHERE = "study/journal.jsonl/below"  # a file is no folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    write(journal(Made(workers=(1, 2), blocks=6)), folder / "journal.jsonl")
    return folder


UNWRITABLE = {
    "publish": ["publish", "study", NOWHERE],
    "export": ["export", "study", "--to", "csv", "--output", NOWHERE],
    "export of what is printed": ["export", "study", "--to", "bencher", "--output", NOWHERE],
    "plot": ["plot", "study", "--output", NOWHERE],
    "report": ["report", "study", "--output", NOWHERE],
    "claims": ["claims", "study", "--output", NOWHERE],
    "compare": ["compare", "study", "--output", NOWHERE],
    "gate": ["gate", "study", "--min-efficiency", "0.1", "--summary", NOWHERE],
    "reference": ["reference", "--only", "scale", "--output", NOWHERE],
    "app --write": ["app", "shop:app", "--write", f"{NOWHERE}/serve.py"],
}


@pytest.mark.usefixtures("undrawn", "study")
@pytest.mark.parametrize("name", UNWRITABLE)
def test_a_place_that_cannot_be_written(name: str, command: Command) -> None:
    done = command(*UNWRITABLE[name])
    assert done.returncode == 2, done.stderr
    assert NOWHERE in done.stderr
    assert len(done.stderr.splitlines()) == 1


WRONG = {
    "page": (["show", "study/report.html"], "not a study folder, and not a journal of scaling"),
    "share": (["gate", "study", "--min-efficiency", "80"], "Did you mean 0.8?"),
    "interpreter": (
        ["app", "shop:app", "--python-gil", "/bin/ls", "--python-ft", "/bin/ls"],
        "/bin/ls does not run as Python: ",
    ),
    "connections": (["app", "shop:app", "--connections", "0"], "--connections: expected 1 or more"),
    "hosts": (["run", "--hosts", ""], "--hosts: expected hosts that ssh knows"),
    "label": (["reference", "--label", "a/b", "--list"], "--label a/b: expected a name"),
    "no times": (
        ["export", "study", "--to", "hdr", "--output", "latencies.zip"],
        "no operation of a valid run was timed",
    ),
    "no file": (["export", "study", "--to", "hdr"], "Name a file: --output latencies.zip"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_a_line(name: str, command: Command, study: Path) -> None:
    (study / "report.html").write_text("\n<!doctype html>\n")
    arguments, said = WRONG[name]
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line
    assert len(line) < 400


def test_ctrl_c_ends_a_command_in_silence(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "app", interrupted)
    done = command("show", "study")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


PRINTING = {
    "help": ["--help"],
    "tables": ["show", "study"],
    "a check that holds": ["gate", "study", "--min-efficiency", "0.1"],
    "plain text": ["study", "--schema"],
}


@pytest.mark.slow
@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("name", PRINTING)
@pytest.mark.parametrize(
    ("full", "ends"),
    [(False, (141, "")), (True, (2, "scaling: standard output: No space left on device\n"))],
    ids=["its reader is gone", "the disk is full"],
)
def test_what_cannot_be_printed(
    name: str, full: bool, ends: tuple[int, str], tmp_path: Path
) -> None:
    """`scaling gate | head` is no check that failed."""
    command = [sys.executable, "-m", "scaling", *PRINTING[name]]
    with Path("/dev/full").open("w") if full else gone() as out:
        done = subprocess.run(
            command,
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


@pytest.mark.parametrize("check", [["--check"], []])
@pytest.mark.usefixtures("undrawn")
def test_an_application_with_findings_fails_the_check_and_can_be_measured(
    check: list[str], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured nevertheless, its findings come before any figure."""
    found = AppCheck(ok=False, findings=[CRASH])

    def measured(*_: object, **__: object) -> Path:
        return application_study(tmp_path / "out").parent

    monkeypatch.setattr(app_steps.AppSteps, "known", lambda self: self)
    monkeypatch.setattr(app_steps.AppSteps, "ready", lambda self: Ready())
    monkeypatch.setattr(app_steps.AppSteps, "afterwards", lambda self: ())
    monkeypatch.setattr(app_steps, "check_of", lambda *_: found)
    monkeypatch.setattr(app_steps, "one_line", lambda _: "20 cells")
    monkeypatch.setattr(app_steps, "reservations", lambda _: ())
    monkeypatch.setattr(app_steps, "try_application", lambda _: None)
    monkeypatch.setattr(app_steps, "measure", measured)
    done = command("app", "shop:app", *check)
    assert done.returncode == (1 if check else 0), done.stderr
    assert "  crashed (GET /): Segmentation fault" in done.stdout
    if not check:
        _, said, *figures = done.stdout[done.stdout.index("THE ANSWER") :].splitlines()
        assert said == "Check: 1 finding on several loops (crashed)."
        assert "requests/s at the peak" in "".join(figures)


class Ready:
    """A study that needs no preparation."""

    plan = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("path", "looked_in"), [([], "."), (["--path", "src"], "src")])
def test_remedies_look_for_an_application_where_app_does(
    path: list[str],
    looked_in: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needed: list[Any] = []

    def prepared(_options: object, needs: object, *_: object) -> object:
        needed.append(needs)
        raise KeyboardInterrupt

    (tmp_path / "src").mkdir()
    monkeypatch.setattr(remedy_steps, "prepared", prepared)
    command("remedies", "--app", "shop:app", *path)
    assert needed[0].paths == [str(tmp_path / looked_in)]
