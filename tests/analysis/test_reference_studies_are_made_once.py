"""`nox -s reference` measures each study of its list once, resumes, and publishes what is complete;
the workflow does the same.
"""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import noxfile
from scaling.builds import interpreters
from scaling.study.app_options import AppAsked
from scaling.study.application import application_study
from scaling.study.file import built_in_studies
from tests.analysis.test_noxfile_runs_on_any_python import Session
from tests.support.children import ROOT
from tests.support.pages import parsed

MOST_MINUTES, MOST_MINUTES_IN_FULL, BATCH_MINUTES = 25, 90, 150
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/reference.yml").read_text(encoding="utf-8"))
JOB = WORKFLOW["jobs"]["measure"]
STUDIES = noxfile.reference_studies([])[1]


class Measuring(Session):
    """Commands that measure leave a journal, and a newer one beside, as where a study was begun
    anew because its builds were others.
    """

    def run(self, *command: str, **more: Any) -> None:
        super().run(*command, **more)
        if "--output" not in command:
            Path(command[-1]).mkdir(parents=True)
            return
        output = Path(command[command.index("--output") + 1])
        for folder, at in ((output, 0), (output.with_name(f"{output.name}-2"), 1)):
            folder.mkdir(parents=True)
            (folder / "journal.jsonl").touch()
            os.utime(folder / "journal.jsonl", (at, at))

    @property
    def words(self) -> list[list[str]]:
        """Of each command without `python -m scaling`."""
        return [shlex.split(each)[3:] for each in self.commands]


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in a folder for a list, with a Python that measures."""
    monkeypatch.setattr(noxfile, "analysis_python", lambda *_, **__: "python")
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()


def list_studies(*studies: str) -> None:
    noxfile.REFERENCE.write_text("".join(f"[[studies]]\n{each}\n" for each in studies))


def words_of_workflow() -> list[str]:
    """The options that the workflow gives to the session, with the first batch."""
    (step,) = (each["run"] for each in JOB["steps"] if "nox -s reference" in each.get("run", ""))
    values = {"BATCH": "1", "WORKERS": "1", "MACHINE": "hosted"}
    assert values.keys() == JOB["env"].keys()
    words = shlex.split(step)
    return [values.get(word.removeprefix("$"), word) for word in words[words.index("--") + 1 :]]


def test_each_is_measured_and_published_once_and_one_that_fails_is_tried_again() -> None:
    """As the workflow asks for it, whose upload is what was published."""
    names = ("broken", "echo")
    list_studies(*(f'name = "{each}"\ncommand = "run {each}"\nbatch = 1' for each in names))
    session = Measuring(*words_of_workflow(), failing="broken")
    with pytest.raises(SystemExit, match=r"^not published: broken\. The"):
        noxfile.reference(session)
    assert [words[0] for words in session.words] == ["run", "run", "publish"]
    upload = JOB["steps"][-1]["with"]["path"].replace("${{ inputs.machine }}", "hosted")
    assert Path(upload, "echo").is_dir()
    again = Measuring(*words_of_workflow())
    noxfile.reference(again)
    assert [words[0] for words in again.words] == ["run", "publish"]
    assert again.words[0][1] == "broken"


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
    options: list[str], asked: list[str], pgo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "available", lambda *_, **__: ["3.12", "3.15t"])
    own = 'command = "run --study versions"\nevery_version = true\nown_workers = true\npgo = false'
    list_studies(
        'name = "scale"\ncommand = "run --study scale"\nbatch = 1',
        f'name = "versions"\nbatch = 2\n{own}',
    )
    session = Measuring(*options, "--workers", "1,8")
    noxfile.reference(session)
    measuring, publishing = session.words
    place = measuring.index("--output")
    assert measuring[:place] + measuring[place + 2 :] == asked
    assert session.environment["SCALING_PGO"] == pgo
    results = measuring[place + 1]
    assert publishing == ["publish", f"{results}-2", results.replace("reference", "published")]


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
