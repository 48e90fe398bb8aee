"""The interpreters of one call come from one place, in one version, compiled alike."""

from collections.abc import Sequence

import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.cache import Say
from scaling.builds.cpython import Build, Interpreter, parse_build
from scaling.builds.interpreters import Provider, available, ensure, select
from tests.support.fake_builds import interpreter, say_nothing

BOTH = [parse_build("3.14"), parse_build("3.14t")]


@pytest.fixture(autouse=True)
def nobody_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCALING_INTERPRETERS", raising=False)
    monkeypatch.delenv("SCALING_PGO", raising=False)


def pair(version: str, **same: object) -> list[Interpreter]:
    return [interpreter(build, version, **same) for build in ("3.14", "3.14t")]


def chosen(
    candidates: list[Interpreter], builds: Sequence[Build] = BOTH, *, pgo: bool = False
) -> list[tuple[str, str]]:
    result = select(candidates, builds, pgo=pgo) or {}
    return [(one.version, one.origin) for one in result.values()]


def test_the_newest_pair_is_taken_and_an_older_one_before_two_that_differ() -> None:
    candidates = pair("3.14.7", origin="uv") + pair("3.14.9", origin="uv")
    assert chosen(candidates) == [("3.14.9", "uv")] * 2
    newer = interpreter("3.14", "3.14.10", origin="uv")
    assert chosen([newer, *pair("3.14.7", origin="built")]) == [("3.14.7", "built")] * 2
    equal = pair("3.14.7", origin="built") + pair("3.14.7", origin="PATH")
    assert chosen(equal) == [("3.14.7", "PATH")] * 2
    alone = [interpreter("3.14t", "3.14.9", origin="pyenv"), *pair("3.14.7")]
    assert chosen(alone, BOTH[1:]) == [("3.14.9", "pyenv")]


@pytest.mark.parametrize(
    "other",
    [
        {"version": "3.14.8"},
        {"origin": "pyenv"},
        {"pgo": True},
        {"lto": True},
        {"compiler": "Clang 22"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_two_that_differ_are_no_pair(other: dict[str, str]) -> None:
    assert chosen([interpreter("3.14"), interpreter("3.14t", **other)]) == []


@pytest.mark.parametrize("fault", [{"debug": True}, {"missing": ("_ssl",)}])
def test_a_lame_one_is_none(fault: dict[str, object]) -> None:
    assert chosen(pair("3.14.7", **fault)) == []


def test_pgo_asked_for_is_pgo_given_and_our_own_is_for_who_asked() -> None:
    plain, tuned = pair("3.14.9"), pair("3.14.7", pgo=True, origin="uv")
    assert chosen(plain, pgo=True) == []
    assert chosen(plain + tuned, pgo=True) == [("3.14.7", "uv")] * 2
    ours = pair("3.14.7", pgo=True, origin="built")
    assert chosen(ours) == []
    assert chosen(ours, pgo=True) == [("3.14.7", "built")] * 2


def way(asked: list[str], name: str, result: list[Interpreter] | ScalingError) -> Provider:
    def get(builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
        del say
        asked.append(f"{name} {' '.join(build.name for build in builds)}{' with PGO' * pgo}")
        if isinstance(result, ScalingError):
            raise result
        return {one.build: one for one in result if one.build in [b.name for b in builds]}

    return get


def test_ways_are_tried_in_order_until_one_gives_all() -> None:
    asked: list[str] = []
    providers = {
        "found": way(asked, "found", ScalingError("nothing here")),
        "uv": way(asked, "uv", pair("3.14.9", origin="uv")),
        "built": way(asked, "built", pair("3.14.7", origin="built")),
    }
    result = ensure(["3.14t", "3.14", "3.14t"], say=say_nothing, providers=providers)
    assert asked == ["found 3.14t 3.14", "uv 3.14t 3.14"]
    assert [(name, one.origin) for name, one in result.items()] == [("3.14t", "uv"), ("3.14", "uv")]


def test_a_way_can_be_chosen_and_a_wrong_setting_stops_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    providers = {
        "found": way(asked, "found", UsageError("no such file")),
        "built": way(asked, "built", pair("3.14.7")),
    }
    with pytest.raises(UsageError, match="no such file"):
        ensure(["3.14"], say=say_nothing, providers=providers)
    monkeypatch.setenv("SCALING_INTERPRETERS", "built")
    assert ensure(["3.14"], say=say_nothing, providers=providers)["3.14"].version == "3.14.7"
    monkeypatch.setenv("SCALING_PGO", "1")
    ensure(["3.14"], say=say_nothing, providers=providers)
    assert asked == ["found 3.14", "built 3.14", "built 3.14 with PGO"]
    monkeypatch.setenv("SCALING_INTERPRETERS", "conda")
    with pytest.raises(UsageError, match="any of found, built, got 'conda'"):
        ensure(["3.14"], say=say_nothing, providers=providers)


def test_versions_are_built_from_source_where_they_can_be() -> None:
    """All with one compiler and the same flags; what is not there is said."""
    said: list[str] = []
    here = {
        "built": pair("3.14.7", origin="built"),
        "found": [interpreter("3.12", "3.12.1"), interpreter("3.13", "3.13.0"), *pair("3.14.9")],
    }

    def only(name: str) -> Provider:
        def get(builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
            if chosen := select(here[name], builds, pgo=pgo):
                return chosen
            raise ScalingError("not here")

        return get

    providers = {name: only(name) for name in here}
    versions = ["3.12", "3.13", "3.13t", "3.14", "3.14t"]
    had = available(versions, say=said.append, providers=providers)
    assert had == ["3.12", "3.13", "3.14", "3.14t"]
    assert said[-1] == "left out: no CPython 3.13t is available"
    both = ensure(["3.14", "3.14t"], say=say_nothing, providers=providers)
    assert {one.version for one in both.values()} == {"3.14.7"}
