"""Whatever is asked for wrongly: exit code 2, a line or two, no traceback, nothing lost."""

import importlib
from pathlib import Path

import pytest

import scaling.cli
from tests.support.cli import BUILD, Command
from tests.support.cli import scaling as run_scaling

CASES = {
    "workload": (["--workload", "ehco"], "Did you mean 'echo'?"),
    "loop": (["--loop", "uvlop"], "Did you mean 'uvloop'?"),
    "workers": (["--workers", "0"], "expected 1 or more, got 0"),
    "parameter": (["--set", "echo.paylod_bytes=1"], "Did you mean 'payload_bytes'?"),
    "value": (["--set", "echo.payload_bytes=many"], "expected a whole number, got 'many'"),
    "arm": (["--arm", "3.14x"], "Did you mean"),
    "setting": (["--arm", f"{BUILD}+mimaloc"], "Did you mean 'mimalloc'?"),
    "model": (["--model", "fibres"], "threads, processes, forked, interpreters"),
    "study": (["--study", "nothing-like-it"], "There are: "),
    "preset": (["--preset", "fast"], "smoke, default, rigorous"),
    "seconds": (["--seconds", "-1"], "got -1"),
    "path": (["--path", "nowhere"], "no such folder"),
    "own": (["--workload", "no_such_module:Thing"], "No module named"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_plan_says_what_is_wrong(case: str, command: Command) -> None:
    arguments, told = CASES[case]
    arm = [] if "--arm" in arguments else ["--arm", BUILD]
    done = command("plan", *arm, *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.slow
def test_the_program_says_it_as_the_command_line_does(tmp_path: Path) -> None:
    done = run_scaling("plan", "--arm", f"{BUILD}+mimaloc", state=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Did you mean 'mimalloc'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_an_error_in_a_study_file_names_file_key_and_what_was_expected(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('blocks = "many"\n[[workloads]]\nname = "echo"\n')
    done = command("plan", "--study", "mine.toml")
    assert done.returncode == 2
    for part in ("mine.toml", "blocks", "expected whole number"):
        assert part in done.stderr


@pytest.mark.slow
def test_an_output_folder_that_cannot_be_written_costs_nothing(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = command("run", "--arm", BUILD, "--workload", "compute", "--output", "file/out")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "--output" in done.stderr


@pytest.mark.parametrize("name", ["plot"])
def test_missing_results_are_an_error(name: str, command: Command) -> None:
    done = command(name, "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_there_for_every_command(command: Command) -> None:
    for name in ("plan", "run", "plot", "interpreters"):
        done = command(name, "--help")
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_ctrl_c_while_the_program_starts_ends_it_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr(importlib, "import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        importlib.reload(scaling.cli)
    assert ended.value.code == 130
