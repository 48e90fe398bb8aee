"""`nox -s reference` measures each study of its list once, resumes, and publishes what is complete;
the workflow does the same.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nox.command
import pytest
import yaml

import noxfile
from scaling.builds import interpreters
from scaling.study.app_options import AppAsked
from scaling.study.application import application_study
from scaling.study.file import built_in_studies
from tests.support.children import PATIENCE_S, ROOT
from tests.support.cli import BUILD, environment
from tests.support.pages import parsed

MOST_MINUTES, MOST_MINUTES_IN_FULL, BATCH_MINUTES = 25, 90, 150
NO_STUDY = 'name = "broken"\ncommand = "run --study no-such"\nminutes = 1\nbatch = 1'
SMALL = f"""
name = "echo"
command = '''run --arm {BUILD} --workload echo --loop asyncio --model threads
--seconds 0.1 --blocks 1 --no-controls --no-aa-pairs'''
minutes = 1
batch = 1
pgo = false"""
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/reference.yml").read_text(encoding="utf-8"))
JOB = WORKFLOW["jobs"]["measure"]
STUDIES = noxfile.reference_studies([])[1]


class Session:
    """As much of a nox session as `reference` uses: its commands are really run."""

    def __init__(self, folder: Path, posargs: Sequence[str] = ()) -> None:
        self.folder = folder
        self.posargs = list(posargs)
        self.commands: list[list[str]] = []

    def run(self, *command: str, env: dict[str, str] | None = None, **_: Any) -> None:
        self.commands.append(list(command[3:]))  # without `python -m scaling`
        variables = environment(self.folder / "state") | (env or {})
        done = subprocess.run(command, cwd=self.folder, env=variables, timeout=PATIENCE_S)
        if done.returncode:
            raise nox.command.CommandFailed

    def error(self, message: str) -> None:
        raise SystemExit(message)


class Recorded(Session):
    """Its commands are only written down. What measures leaves a journal, and a newer one beside,
    as where a study was begun anew because its builds were others.
    """

    pgo = ""

    def run(self, *command: str, env: dict[str, str] | None = None, **_: Any) -> None:
        self.commands.append(list(command[3:]))
        if "--output" in command:
            self.pgo = (env or {})["SCALING_PGO"]
            output = self.folder / command[command.index("--output") + 1]
            for folder, at in ((output, 0), (output.with_name(f"{output.name}-2"), 1)):
                folder.mkdir(parents=True)
                (folder / "journal.jsonl").touch()
                os.utime(folder / "journal.jsonl", (at, at))


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a list, and the Python that measures."""
    monkeypatch.setattr(noxfile, "analysis_python", lambda *_, **__: sys.executable)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    return tmp_path


def list_studies(*studies: str) -> None:
    noxfile.REFERENCE.write_text("".join(f"[[studies]]\n{each}\n" for each in studies))


def words_of_workflow() -> list[str]:
    """The options that the workflow gives to the session, with the first batch."""
    (step,) = (each["run"] for each in JOB["steps"] if "nox -s reference" in each.get("run", ""))
    values = {"BATCH": "1", "WORKERS": "1", "MACHINE": "hosted"}
    assert values.keys() == JOB["env"].keys()
    words = shlex.split(step)
    return [values.get(word.removeprefix("$"), word) for word in words[words.index("--") + 1 :]]


@pytest.mark.slow
def test_each_is_measured_and_published_once_and_one_that_fails_is_tried_again(clone: Path) -> None:
    """As the workflow asks for it, whose upload is what was published."""
    list_studies(NO_STUDY, SMALL)
    session = Session(clone, words_of_workflow())
    with pytest.raises(SystemExit, match=r"^not published: broken\. The"):
        noxfile.reference(session)
    assert [words[0] for words in session.commands] == ["run", "run", "publish"]
    upload = JOB["steps"][-1]["with"]["path"].replace("${{ inputs.machine }}", "hosted")
    published = clone / upload / "echo"
    assert {"journal.jsonl.gz", "index.html", "summary.csv"} <= {
        each.name for each in published.iterdir()
    }
    list_studies(SMALL)
    again = Session(clone, words_of_workflow())
    noxfile.reference(again)
    assert again.commands == []


@pytest.mark.parametrize(
    ("options", "asked", "pgo"),
    [
        (["--only", "scale"], ["run", "--study", "scale", "--workers", "1,8"], "1"),
        (["--only", "sc*", "--no-pgo"], ["run", "--study", "scale", "--workers", "1,8"], "0"),
        (["--batch", "2"], ["run", "--study", "versions", "--arm", "3.12,3.15t"], "0"),
    ],
    ids=["PGO", "no PGO", "every version, with Ns of its own"],
)
def test_each_is_asked_for_with_its_builds_and_workers_and_the_newest_is_published(
    clone: Path, options: list[str], asked: list[str], pgo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "available", lambda *_, **__: ["3.12", "3.15t"])
    own = 'command = "run --study versions"\nevery_version = true\nown_workers = true\npgo = false'
    list_studies(
        'name = "scale"\ncommand = "run --study scale"\nbatch = 1',
        f'name = "versions"\nbatch = 2\n{own}',
    )
    session = Recorded(clone, [*options, "--workers", "1,8"])
    noxfile.reference(session)
    measuring, publishing = session.commands
    place = measuring.index("--output")
    assert measuring[:place] + measuring[place + 2 :] == asked
    assert session.pgo == pgo
    results = measuring[place + 1]
    assert publishing == ["publish", f"{results}-2", results.replace("reference", "published")]


def test_the_list_is_printed_with_minutes_and_what_is_not_in_it_refused(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    list_studies(NO_STUDY, SMALL)
    noxfile.reference(Recorded(clone, ["--list"]))
    assert capsys.readouterr().out.splitlines() == [
        "batch 1    1 min  broken",
        "batch 1    1 min  echo",
        "0.0 h with one worker and two",
    ]
    for options in (["--only", "ecko"], ["--batch", "9"], ["--hours", "3"]):
        with pytest.raises(SystemExit) as ended:
            noxfile.reference_studies(options)
        assert ended.value.code == 2
        assert "nox -s reference --: error: " in capsys.readouterr().err


# ---------------------------------------------------------------------------------------- the list


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study["name"])
def test_every_study_of_the_list_can_be_asked_for(study: dict[str, Any]) -> None:
    command, *rest = words = shlex.split(study["command"])
    assert parsed(words)
    assert study["minutes"] <= (MOST_MINUTES_IN_FULL if "--full" in rest else MOST_MINUTES)
    if command == "run" and rest[0] == "--study":
        assert rest[1] in built_in_studies()
    if command == "app":
        application_study(AppAsked(application=rest[0]))  # else it raises
    assert all((ROOT / word).exists() for word in rest if re.match("(tests|results)/", word))


def test_batches_are_no_longer_than_an_afternoon_and_fit_into_a_job() -> None:
    names = [study["name"] for study in STUDIES]
    assert len(set(names)) == len(names)
    on_github = re.search(r"&& (\d+) \|\|", JOB["timeout-minutes"])
    assert on_github
    assert BATCH_MINUTES < int(on_github[1]) < 6 * 60
    for batch in {study["batch"] for study in STUDIES}:
        minutes = sum(study["minutes"] for study in STUDIES if study["batch"] == batch)
        assert minutes <= BATCH_MINUTES
