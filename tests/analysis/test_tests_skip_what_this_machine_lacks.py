"""A test whose program is missing is skipped, or fails where that is asked for, and says why."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noxfile
from scaling.builds.arms import parse_arm
from scaling.builds.runtimes.runtime import RUNTIMES
from scaling.builds.settings import SETTINGS
from scaling.run.profile.perf import Perf
from scaling.run.profile.source import UnavailableError
from scaling.study.services import SERVICES
from tests.analysis.test_workflows_say_what_exists import of
from tests.support import programs
from tests.support.children import PATIENCE_S, ROOT
from tests.support.chromium import NAMES
from tests.support.programs import INSTALL, NPM, PROGRAMS, REQUIRE, Program, summary

PACKAGES = sorted(" ".join(each.packages for each in PROGRAMS.values()).split())
OF_NPM = [each.npm for each in PROGRAMS.values() if each.npm]
ON_GITHUB = {"chromium", "gcc", "libc6-dev", "linux-perf", "nodejs", "npm"}
"""What its machines have, or have another name for."""
NOT_ON_PATH = {"chromium", "cpython-source", "jemalloc", "servers", "stacks", "tcmalloc"}
COLLECTED = noxfile.SKIPPED


def words(text: str) -> list[str]:
    return sorted(" ".join(re.findall(r"packages\+?=\((.*?)\)", text)).split())


def test_readme_and_ci_install_all_that_tests_need() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"`apt-get install (.*?)`", readme) == [" ".join(PACKAGES)]
    assert re.findall(r"`npm install --global (.*?)`", readme) == [" ".join(OF_NPM)]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert words(ci) == PACKAGES
    assert re.findall(r"npm install --global --silent (\w+)", ci) == OF_NPM
    assert f"export {REQUIRE}=1" in ci


def test_the_workflow_installs_them_for_one_job_and_hides_them_from_another() -> None:
    asked = [line[2:] for line in of("sudo") if line[0] == "apt-get" and line[1] == "install"]
    named = {name for line in asked for name in line if not name.startswith("-")}
    assert named == {*PACKAGES} - ON_GITHUB | {"linux-tools-$(uname -r)"}
    assert [line[3:] for line in of("sudo") if line[:2] == ["npm", "install"]] == [OF_NPM]
    removed = " ".join(" ".join(line) for line in of("sudo") if line[0] == "rm")
    libraries = {each.preload for each in SETTINGS.values() if each.preload}
    for name in (*PROGRAMS.keys() - NOT_ON_PATH, *NAMES, *libraries):
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", removed), name


@pytest.mark.usefixtures("machine_with_nothing")
def test_what_the_code_looks_for_is_known_with_the_package_that_it_names() -> None:
    for service in SERVICES.values():
        if service.program:
            assert PROGRAMS[service.program].packages in (service.missing({}) or "").split()
    for name, setting in SETTINGS.items():
        if setting.preload:
            misfit = setting.misfit(parse_arm("3.14").build)  # type: ignore[arg-type]
            assert f"apt-get install {PROGRAMS[name].packages}" in str(misfit)
    assert RUNTIMES.keys() <= PROGRAMS.keys()
    with pytest.raises(UnavailableError, match=f"Debian: {PROGRAMS['perf'].packages},"):
        Perf(program="no-such-perf")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, Program]:
    """A machine with these programs; without a compiler, and where perf may not sample."""
    pretended = {
        "cc": Program("gcc libc6-dev", lambda: False),
        "nginx": Program("nginx", lambda: False),
        "bun": Program("", lambda: False, npm="bun"),
        "go": Program("", lambda: False),
        "perf": Program("linux-perf", lambda: True, lambda: "sysctl permits it"),
    }
    monkeypatch.setattr(programs, "PROGRAMS", pretended)
    monkeypatch.setattr(programs, "why_not", programs.why_not.__wrapped__)
    return pretended


@pytest.mark.usefixtures("machine")
def test_the_summary_counts_tests_and_has_one_command_for_what_can_be_installed() -> None:
    assert summary(["nginx", "perf", "cc nginx", "bun", "go"]) == [
        "5 tests skipped for lack of a program:",
        "  bun: 1 test, not installed (npm's package bun)",
        "  cc: 1 test, not installed (package gcc libc6-dev)",
        "  go: 1 test, not installed (Debian has none)",
        "  nginx: 2 tests, not installed (package nginx)",
        "  perf: 1 test, sysctl permits it",
        f"To run them: {INSTALL} gcc libc6-dev nginx && {NPM} bun",
    ]
    assert summary(["perf"])[-1] == "  perf: 1 test, sysctl permits it"
    assert summary([]) == []


def run_without_programs(
    folder: Path, processes: str = "0", **variables: str
) -> "subprocess.CompletedProcess[str]":
    """A test that needs a compiler, where there is no program at all."""
    file = "tests/workers/test_gil_is_verified.py"
    given = {**os.environ, "PATH": str(folder), "CC": "", COLLECTED: "", REQUIRE: "", **variables}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", file, "-k", "every_process", "-n", processes],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=given,
        cwd=ROOT,
    )


@pytest.mark.slow
def test_a_test_without_its_program_is_skipped(tmp_path: Path) -> None:
    done = run_without_programs(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "cc: 1 test, not installed (package gcc libc6-dev)" in done.stdout
    assert f"To run them: {INSTALL} gcc libc6-dev\n" in done.stdout


@pytest.mark.slow
def test_a_test_without_a_program_that_is_required_fails(tmp_path: Path) -> None:
    done = run_without_programs(tmp_path, **{REQUIRE: "1"})
    assert done.returncode == 1
    assert "needs cc: not installed (package gcc libc6-dev)" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "2"])
def test_several_runs_are_summed_up_after_the_last(processes: str, tmp_path: Path) -> None:
    """Each test once, in however many processes they run."""
    collected = tmp_path / "skipped"
    collected.write_text("cc\n")  # by another build
    done = run_without_programs(tmp_path, processes, **{COLLECTED: str(collected)})
    assert "To run them" not in done.stdout
    printed = subprocess.check_output(
        [sys.executable, "-m", "tests.support.programs", str(collected)],
        text=True,
        env={"PATH": str(tmp_path)},
        cwd=ROOT,
    )
    first, _, last = printed.splitlines()
    assert first == "2 tests skipped for lack of a program:"
    assert last == f"To run them: {INSTALL} gcc libc6-dev"
