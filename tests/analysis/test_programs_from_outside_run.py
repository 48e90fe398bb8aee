"""Programs that nobody here wrote are pinned, get requests that can be sent, and are measured."""

import json
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scaling.analysis.table.load import read_journal
from scaling.run.app_requests import read_requests_file
from tests.analysis.test_reference_studies_are_made_once import STUDIES
from tests.support.children import ROOT
from tests.support.cli import Command

OUTSIDE = "outside-"
SHORT = ("--blocks", "1", "--seconds", "0.2")

PROGRAMS = ROOT / "results" / "programs"

every_folder = pytest.mark.parametrize(
    "folder",
    sorted(file.parent for file in PROGRAMS.glob("*/requirements.txt")),
    ids=lambda folder: folder.name,
)


def of_command(command: str) -> pytest.MarkDecorator:
    """The studies of programs from outside that a command of `scaling` makes, by their words."""
    named = {study["name"]: shlex.split(study["command"]) for study in STUDIES}
    found = {
        name: words
        for name, words in named.items()
        if name.startswith(OUTSIDE) and words[0] == command
    }
    return pytest.mark.parametrize("words", found.values(), ids=found)


@pytest.mark.one_build
@pytest.mark.slow
@every_folder
def test_each_is_one_package_at_one_version_with_requests_that_can_be_sent(folder: Path) -> None:
    (line,) = (folder / "requirements.txt").read_text().splitlines()
    (version,) = Requirement(line).specifier
    assert version.operator == "=="
    assert "*" not in version.version
    requests, sent = read_requests_file(folder / "requests.jsonl")
    assert sent.count == len({json.dumps(each) for each in requests}) >= 4
    assert {each.get("status", 200) < 400 for each in requests} == {True, False}


@pytest.fixture
def in_the_clone(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the list's commands are run, whose paths are relative; with one allocator each, and a
    short check. What packages do without the GIL is no part of it.
    """
    del command  # which stands in another folder: this one comes after it
    monkeypatch.setattr("scaling.study.application.ALLOCATORS", ("",))
    monkeypatch.setattr("scaling.run.check.application.FIRSTS", 1)
    monkeypatch.setattr("scaling.run.check.application.TOGETHER_S", 0.5)
    monkeypatch.setattr("scaling.cli.app_steps.say_what_blocks", lambda *_: None)
    monkeypatch.chdir(ROOT)


@pytest.mark.thorough
@pytest.mark.one_build
@pytest.mark.usefixtures("undrawn", "hurried", "in_the_clone")
@of_command("app")
def test_each_is_checked_and_measured_as_the_list_says(
    words: list[str], tmp_path: Path, command: Command
) -> None:
    asked = (*words, *SHORT, "--json", "--workers", "1", "--rate", "20")
    done = command(*asked, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    frame = read_journal(tmp_path / "out").frame
    assert {*frame["model"]} >= {"threads", "processes"}
    assert not frame["errors"].any()
    assert document["check"]["findings"] == []
