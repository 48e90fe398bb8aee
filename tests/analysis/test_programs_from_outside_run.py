"""Programs that nobody here wrote are pinned, get requests that can be sent, and are measured."""

import json
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scaling.run.requests_file import read_requests_file
from scaling.study.reference import Program, programs
from tests.support.children import ROOT
from tests.support.cli import Command

SHORT_S = 0.3  # for the peaks of calibrations, which nothing here depends on
QUICKEST = "radicale"  # the one that the ordinary tests run
SHORT = ("--workers", "1", "--blocks", "1", "--seconds", "0.2", "--json")

every_folder = pytest.mark.parametrize("folder", sorted({each.source for each in programs()}))


@pytest.mark.one_build
@every_folder
def test_each_is_one_package_at_one_version(folder: str) -> None:
    (line,) = (ROOT / folder / "requirements.txt").read_text().splitlines()
    (version,) = Requirement(line).specifier
    assert version.operator == "=="
    assert "*" not in version.version


@pytest.mark.one_build
@pytest.mark.slow
@every_folder
def test_each_has_requests_of_several_kinds_that_can_be_sent(folder: str) -> None:
    requests, sent = read_requests_file(ROOT / folder / "requests.jsonl")
    assert sent.count == len({json.dumps(each) for each in requests}) >= 4
    assert {each.get("status", 200) < 400 for each in requests} == {True, False}


every_program = pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, marks=[pytest.mark.thorough] if each.name != QUICKEST else [])
        for each in programs()
    ],
    ids=[each.name for each in programs()],
)


@pytest.mark.slow
@pytest.mark.one_build
@pytest.mark.usefixtures("undrawn")
@every_program
def test_each_is_checked_and_measured_as_the_list_says(
    program: Program, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scaling.run.calibrate.CALIBRATION_WINDOW_S", SHORT_S)
    monkeypatch.setattr("scaling.run.session.RETRIES", 0)
    monkeypatch.setattr("scaling.run.time_left.ExtraTime.grant", lambda *_: None)
    monkeypatch.chdir(ROOT)
    study, _ = program.studies()
    done = command(*study.arguments, *SHORT, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    models = {each["model"] for each in document["configurations"]}
    assert models >= {"threads", "processes"}
    assert {each["errors"] for each in document["configurations"]} == {0}
    assert document["check"]["findings"] == []


@pytest.mark.slow
@pytest.mark.one_build
@pytest.mark.usefixtures("undrawn")
@every_program
def test_a_remedy_is_measured_where_its_threads_are(
    program: Program, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scaling.run.calibrate.CALIBRATION_WINDOW_S", SHORT_S)
    monkeypatch.setattr("scaling.run.session.RETRIES", 0)
    monkeypatch.chdir(ROOT)
    _, study = program.studies()
    only = ("--remedy", "nopurge,gc50k")
    done = command(*study.arguments, *only, *SHORT, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    factors = json.loads(done.stdout)["factors"]
    assert {each["remedy"] for each in factors} == {"nopurge", "gc50k"}
    assert {each["model"] for each in factors} == {"threads"}
