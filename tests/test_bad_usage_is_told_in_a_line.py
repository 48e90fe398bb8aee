"""Whatever is asked for wrongly: exit code 2, a line or two, no traceback, nothing lost."""

from pathlib import Path

import pytest

from tests.commands import BUILD, scaling

CASES = {
    "workload": (["--workload", "ehco"], "Did you mean 'echo'?"),
    "loop": (["--loop", "uvlop"], "Did you mean 'uvloop'?"),
    "workers": (["--workers", "0"], "workers must be 1 or more, got 0"),
    "parameter": (["--set", "echo.paylod_bytes=1"], "Did you mean 'payload_bytes'?"),
    "value": (["--set", "echo.payload_bytes=many"], "expected a whole number, got 'many'"),
    "arm": (["--arm", "3.14x"], "Did you mean"),
    "setting": (["--arm", f"{BUILD}+mimaloc"], "Did you mean 'mimalloc'?"),
    "model": (["--model", "fibres"], "threads, processes, interpreters"),
    "study": (["--study", "nothing-like-it"], "There are: "),
    "preset": (["--preset", "fast"], "smoke, default, rigorous"),
    "seconds": (["--seconds", "-1"], "got -1"),
    "path": (["--path", "nowhere"], "no such folder"),
    "own": (["--workload", "no_such_module:Thing"], "No module named"),
}


@pytest.mark.parametrize("case", CASES)
def test_plan_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    arguments, told = CASES[case]
    arm = [] if "--arm" in arguments else ["--arm", BUILD]
    done = scaling("plan", *arm, *arguments, state=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_a_study_file_is_told_by_file_key_and_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('blocks = "many"\n[[workloads]]\nname = "echo"\n')
    done = scaling("plan", "--study", "mine.toml", state=tmp_path)
    assert done.returncode == 2
    for part in ("mine.toml", "blocks", "expected whole number"):
        assert part in done.stderr


def test_an_output_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = scaling(
        *("run", "--arm", BUILD, "--workload", "compute", "--output", "file/out"), state=tmp_path
    )
    assert done.returncode == 2
    assert "cannot write to" in done.stderr
    assert "--output" in done.stderr


@pytest.mark.parametrize("command", ["plot"])
def test_results_that_are_not_there_are_told(command: str, tmp_path: Path) -> None:
    done = scaling(command, "nowhere", state=tmp_path)
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_there_for_every_command(tmp_path: Path) -> None:
    for command in ("plan", "run", "plot", "interpreters"):
        done = scaling(command, "--help", state=tmp_path)
        assert done.returncode == 0
        assert "Usage" in done.stdout
