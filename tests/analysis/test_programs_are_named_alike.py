"""What tests, services, settings and runtimes need is named alike in pages, CI and messages."""

import re
from importlib import import_module

import pytest

from scaling.builds.arms import parse_arm
from scaling.builds.installed import URLS
from scaling.builds.runtimes import RUNTIMES
from scaling.builds.settings import SETTINGS
from scaling.study.services import SERVICES, Service
from tests.analysis.test_examples_of_pages_work import of
from tests.support.children import ROOT
from tests.support.programs import BROWSERS, PROGRAMS, REQUIRE

PACKAGES = sorted(" ".join(each.packages for each in PROGRAMS.values()).split())
OF_NPM = [each.npm for each in PROGRAMS.values() if each.npm]
ON_GITHUB = {"chromium", "gcc", "libc6-dev", "nodejs", "npm"}
"""What its machines have, or have another name for."""
NOT_ON_PATH = {"chromium", "jemalloc", "servers", "tcmalloc"}


def test_page_and_ci_install_all_that_tests_need() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"`apt-get install (.*?)`", page) == [" ".join(PACKAGES)]
    assert re.findall(r"`npm install --global (.*?)`", page) == [" ".join(OF_NPM)]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    in_ci = re.findall(r"packages\+?=\((.*?)\)", ci)
    assert sorted(" ".join(in_ci).split()) == PACKAGES
    assert re.findall(r"npm install --global --silent (\w+)", ci) == OF_NPM
    assert f"export {REQUIRE}=1" in ci


def test_workflows_install_them_for_one_job_and_hide_them_from_another() -> None:
    asked = [line[2:] for line in of("sudo") if line[0] == "apt-get" and line[1] == "install"]
    named = {name for line in asked for name in line if not name.startswith("-")}
    assert named == {*PACKAGES} - ON_GITHUB
    of_npm = [line[3:] for line in of("sudo") if line[:2] == ["npm", "install"]]
    assert {*map(tuple, of_npm)} == {tuple(OF_NPM)}
    removed = " ".join(" ".join(line) for line in of("sudo") if line[0] == "rm")
    libraries = {each.preload for each in SETTINGS.values() if each.preload}
    for name in (*PROGRAMS.keys() - NOT_ON_PATH, *BROWSERS, *libraries):
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


def test_the_variable_of_an_installed_server_is_that_which_its_service_reads() -> None:
    """A misspelt one would be ignored."""
    named = [each for each in SERVICES.values() if each.installed]
    assert {each.installed for each in named} == {*URLS}
    for each in named:
        assert each.installed == import_module(each.module).INSTALLED
    with pytest.raises(ValueError, match="SCALING_POSTGRE: expected SCALING_POSTGRES or"):
        Service(module="workers.services.postgres", installed="SCALING_POSTGRE")
