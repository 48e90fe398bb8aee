"""Every command of `.github/workflows/reference.yml` is run, one job after the other: it measures,
and ends with a branch that was pushed and the text of a pull request.

Real are bash, `scaling` (with a list of one small study), git and the repository that it pushes
to. Not real: `pip`, `sudo` and `gh` are programs that write down how they were called, which is
looked at; GitHub's expressions get their values from `VALUES`; artifacts are copied; conditions are
not evaluated, so that every step is run.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from scaling.study.reference import reference_studies
from tests.support.children import PATIENCE_S, ROOT, git
from tests.support.cli import BUILD, environment

TEXT = (ROOT / ".github" / "workflows" / "reference.yml").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load(TEXT)
JOBS = WORKFLOW["jobs"]
INPUTS = WORKFLOW[True]["workflow_dispatch"]["inputs"]  # YAML takes the key `on` for true
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
VALUES = {
    "matrix.batch": "1",
    "inputs.hours || '4.5'": "0.5",
    "inputs.workers || '1,2,cores'": "1",
    "inputs.label || 'hosted'": "hosted",
    "github.run_id": "17",
    "github.run_attempt": "1",
    "github.token": "a-token",
}
STUDIES = f"""
[[studies]]
name = "echo"
command = '''run --arm {BUILD} --workload echo --loop asyncio --model threads
--seconds 0.1 --blocks 1 --no-controls --no-aa-pairs'''
minutes = 1
pgo = false
"""
SCALING = """\
#!{python}
import sys
from scaling.study import reference
reference.FILE_NAME = {file!r}
from scaling.cli import main
main()
"""
WRITES_DOWN = """\
#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\n'; } >> "$CALLS"
"""


@dataclass(frozen=True)
class Runner:
    """A machine that runs jobs: `bin` is on its PATH, `calls` has what was only written down."""

    folder: Path

    def make(self) -> None:
        (self.folder / "bin").mkdir()
        file = self.folder / "reference.toml"
        file.write_text(STUDIES, encoding="utf-8")
        self._program("scaling", SCALING.format(python=sys.executable, file=str(file)))
        for name in ("gh", "pip", "sudo"):
            self._program(name, WRITES_DOWN)

    def _program(self, name: str, text: str) -> None:
        file = self.folder / "bin" / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def run(self, job: str, clone: Path) -> None:
        """Run every command of a job, as GitHub's default shell does."""
        own = {name: filled(value) for name, value in JOBS[job]["env"].items()}
        variables = environment(self.folder / "state")
        path = f"{self.folder / 'bin'}:{variables['PATH']}"
        calls = {"CALLS": str(self.folder / "calls"), "PATH": path}
        for step in steps_of(job):
            script = self.folder / "step.sh"
            script.write_text(step["run"], encoding="utf-8")
            done = subprocess.run(
                ["bash", "-e", str(script)],
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                env={**variables, **own, **calls},
                cwd=clone,
            )
            may_fail = step.get("continue-on-error", False)
            assert done.returncode in ((0, 1) if may_fail else (0,)), done.stdout + done.stderr
            assert "Traceback" not in done.stderr

    @property
    def calls(self) -> list[list[str]]:
        lines = (self.folder / "calls").read_text(encoding="utf-8").split("\0\n")
        return [line.split("\0") for line in lines if line]


def filled(text: Any) -> str:
    """A value of the workflow; an expression that `VALUES` does not have raises `KeyError`."""
    return EXPRESSION.sub(lambda found: VALUES[found[1]], str(text))


def steps_of(job: str) -> list[dict[str, Any]]:
    return [step for step in JOBS[job]["steps"] if "run" in step]


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-such-file"))
    begun = tmp_path / "begun"
    begun.mkdir()
    git("init", "--quiet", "--initial-branch=main", at=begun)
    (begun / ".gitignore").write_text((ROOT / ".gitignore").read_text(encoding="utf-8"))
    git("add", "--all", at=begun)
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    git(*author, "commit", "--quiet", "--message=begun", at=begun)
    git("clone", "--quiet", "--bare", str(begun), str(tmp_path / "origin"), at=tmp_path)
    return tmp_path / "origin"


@pytest.mark.slow
@pytest.mark.needs("git")
def test_every_command_is_run_and_the_results_are_on_a_branch(origin: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path / "runner")
    runner.folder.mkdir()
    runner.make()
    for job in ("measuring", "proposing"):
        git("clone", "--quiet", str(origin), str(tmp_path / job), at=tmp_path)
    measuring, proposing = tmp_path / "measuring", tmp_path / "proposing"

    runner.run("measure", measuring)
    (upload,) = (step["with"] for step in uses("measure", "upload-artifact"))
    (download,) = (step["with"] for step in uses("propose", "download-artifact"))
    name = filled(upload["name"])
    assert Path(name).match(download["pattern"])
    shutil.copytree(measuring / upload["path"], proposing / download["path"] / name)
    runner.run("propose", proposing)

    branch = "reference-17-1"
    pushed = git("ls-tree", "-r", "--name-only", branch, at=origin).splitlines()
    assert "results/published/hosted/echo/journal.jsonl.gz" in pushed
    assert "results/published/hosted/claims.md" in pushed
    title = "Results of hosted: 1 study"
    assert git("log", "-1", "--format=%s by %an", branch, at=origin) == (
        f"{title} by github-actions[bot]"
    )
    body = "results/reference/pull-request.md"
    assert "| echo | left out |" in (proposing / body).read_text(encoding="utf-8")
    (pull_request,) = (call[1:] for call in runner.calls if call[0] == "gh")
    create = ["pr", "create", "--draft", "--head", branch, "--title", title, "--body-file", body]
    assert pull_request == create


def uses(job: str, action: str) -> list[dict[str, Any]]:
    return [step for step in JOBS[job]["steps"] if f"actions/{action}@" in step.get("uses", "")]


def test_no_job_is_left_out() -> None:
    assert set(JOBS) == {"measure", "propose"}
    assert sum(len(steps_of(job)) for job in JOBS) == len(re.findall(r"\brun:", TEXT))


def test_batches_are_those_of_the_list_and_fit_into_a_job() -> None:
    minutes: dict[int, float] = {}
    for study in reference_studies():
        minutes[study.batch] = minutes.get(study.batch, 0) + study.minutes
    assert json.loads(INPUTS["batches"]["default"]) == sorted(minutes)
    hours = float(INPUTS["hours"]["default"])
    assert max(minutes.values()) <= 60 * hours
    on_github = re.search(r"&& (\d+) \|\|", JOBS["measure"]["timeout-minutes"])
    assert on_github
    assert 60 * hours < int(on_github[1]) < 6 * 60


def test_a_month_measures_what_a_person_does_who_changes_no_input() -> None:
    """A schedule has no inputs: each expression names the default again."""
    asked = re.findall(r"inputs\.(\w+) \|\| '(.*?)'", TEXT)
    assert {name for name, _ in asked} == set(INPUTS)
    for name, default in asked:
        assert default == INPUTS[name]["default"], name
