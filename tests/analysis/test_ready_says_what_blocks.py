"""`scaling ready` prints a sentence and a table; its exit code says whether anything blocks."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import UsageError
from scaling.builds.cpython import Interpreter
from scaling.builds.ready.imports import extension_modules
from scaling.builds.ready.package import (
    OTHERWISE,
    REPLACEMENTS,
    Package,
    Readiness,
)
from scaling.builds.ready.races import known_races
from scaling.builds.ready.resolve import Required
from scaling.cli.app_steps import say_what_blocks
from scaling.report.ready import blocking_lines, ready_grid
from scaling.report.render.terminal import table
from tests.support.cli import Command
from tests.support.fake_builds import interpreter
from tests.support.printing import printed_by

SOUND = Package(name="anyio", version="4.16.0", has="pure")
LXML = Package(
    name="lxml", version="6.1.3", has="wheel", gil_on=("lxml._elementpath", "lxml.etree"),
    needed_by=("pages",),
)  # fmt: skip
OLD = Package(
    name="cryptography", version="45.0.1", has="source", compiled_with_gil=True, only_abi3=True,
    first_with_wheel="46.0.0",
)  # fmt: skip
SLOWER = Package(
    name="protobuf", version="7.36.2", has="pure", compiled_with_gil=True, only_abi3=True
)
SOURCE = Package(name="docopt", version="0.6.2", has="source")


def of(*packages: Package, build: str = "3.14t") -> Readiness:
    return Readiness(build=build, version="3.14.7", packages=list(packages))


def shown(*found: Readiness) -> str:
    return printed_by(lambda to: to.print(table(ready_grid(found), to)), width=120)


def test_what_blocks_comes_first_with_what_to_do_and_the_next_version_beside_it(
    snapshot: SnapshotAssertion,
) -> None:
    """Known races, and what is slower, are only said."""
    racing = Package(name="multidict", version="6.7.1", has="wheel", extensions=1)
    both = replace(racing, name="uvloop", version="0.23.0", gil_on=("uvloop.loop",))
    slower = replace(SLOWER, name="regex", version="2025.11.3", only_abi3=False)
    nothing = Package(name="gone", has="nothing")
    found = of(SOUND, SLOWER, OLD, LXML, SOURCE, nothing, racing, both, slower)
    assert shown(found, of(SOUND, build="3.15t"), of(SOUND, racing)) == snapshot
    assert list(blocking_lines(found)) == snapshot


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> Callable[[Readiness], list[Mapping[str, Any]]]:
    """Has the command find this; gives what it asks for."""

    def set_up(found: Readiness) -> list[Mapping[str, Any]]:
        asked: list[Mapping[str, Any]] = []

        def examine(required: Required, one: Interpreter, **options: Any) -> Readiness:
            asked.append({"required": required, "interpreter": one, **options})
            return found

        monkeypatch.setattr("scaling.builds.ready.examine.examine", examine)
        monkeypatch.setattr(
            "scaling.builds.interpreters.ensure", lambda *_, **__: {"3.14t": interpreter()}
        )
        monkeypatch.setattr("scaling.builds.interpreters.find.survey", lambda *_: [])
        return asked

    return set_up


def test_it_fails_where_something_blocks(
    command: Command, examined: Callable[[Readiness], object]
) -> None:
    examined(of(SOUND))
    assert command("ready", "anyio").returncode == 0
    examined(of(SOUND, LXML))
    answer = command("ready", "anyio", "lxml", "--json")
    assert answer.returncode == 1
    document = json.loads(answer.stdout)
    assert document["ready"] is False
    (build,) = document["builds"]
    assert [each.get("blocks", "") for each in build["packages"]] == ["", LXML.blocks]
    assert build["packages"][1]["source"] == REPLACEMENTS["lxml"].source


def test_an_application_is_read_from_the_file_beside_it(
    command: Command, examined: Callable[[Readiness], list[Mapping[str, Any]]], tmp_path: Path
) -> None:
    asked = examined(of(SOUND))
    (tmp_path / "src").mkdir()
    (tmp_path / "requirements.txt").write_text("anyio\n")
    assert command("ready", "--app", "shop.main:app", "--path", "src").returncode == 0
    assert asked[0]["required"].files == (tmp_path / "requirements.txt",)
    assert asked[0]["application"] == ("shop.main", tmp_path / "src")


def test_app_says_what_blocks_and_goes_on_unless_a_package_cannot_be_installed(
    examined: Callable[[Readiness], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv would say the latter for each version that there ever was."""

    def said(console: Console) -> None:
        say_what_blocks(["lxml"], [], "3.14t", console)

    def refuses(*_: object, **__: object) -> Readiness:
        raise UsageError("no such thing")

    examined(of(SOUND, LXML))
    assert [line.strip() for line in printed_by(said, 200).splitlines()][:2] == [
        "Not ready for 3.14t: of 2 distributions lxml blocks.",
        f"lxml 6.1.3: {LXML.blocks}",
    ]
    nothing = Package(
        name="psycopg-binary", version="3.3.9", has="nothing", needed_by=("psycopg",),
        reason="neither a wheel for 3.14t nor a source",
    )  # fmt: skip
    examined(of(SOUND, nothing))
    with pytest.raises(UsageError) as stopped:
        printed_by(said)
    assert [line.strip() for line in str(stopped.value).splitlines()] == [
        "Not ready for 3.14t: of 2 distributions psycopg-binary blocks.",
        "psycopg-binary 3.3.9: neither a wheel for 3.14t nor a source",
        f"needed by psycopg; {OTHERWISE}",
    ]
    monkeypatch.setattr("scaling.builds.ready.examine.examine", refuses)
    assert printed_by(said, 200) == (
        "not known whether the requirements are ready for 3.14t: no such thing\n"
    )


def test_abi3t_is_no_abi3() -> None:
    """PEP 803: `abi3t` is made for free-threaded builds, alone or together with `abi3`."""
    files = ["a/x.abi3t.so", "a/y.abi3.so", "a/z.cpython-315t-x86_64-linux-gnu.so", "a/lib.so.1"]
    suffixes = [".cpython-315t-x86_64-linux-gnu.so", ".abi3t.so", ".abi3.so", ".so"]
    assert extension_modules(files, suffixes) == {"a.x": False, "a.y": True, "a.z": False}
    assert extension_modules(files[:1], [".cpython-314t-x86_64-linux-gnu.so", ".so"]) == {}


@pytest.mark.parametrize(
    ("name", "version", "to_do"),
    [
        ("multidict", "6.7.1", "use 6.9.1 or newer"),
        ("multidict", "6.9.1", ""),
        ("multidict", "6.10", ""),  # versions are no texts
        ("google-genai", "2.17.3", ""),
        ("google-genai", "2.18.0", "use each model once before threads start"),
        ("uvloop", "0.23.0", "start programs under one threading.Lock, or on one loop"),
        ("anyio", "1.0", ""),
        ("multidict", "", ""),
    ],
)
def test_a_race_is_known_of_the_versions_that_have_it(name: str, version: str, to_do: str) -> None:
    race = Package(name=name, version=version, has="wheel").race
    assert (race.to_do if race else "") == to_do


def test_known_races_block_nothing(
    command: Command, examined: Callable[[Readiness], object]
) -> None:
    race = known_races()["multidict"]
    examined(of(SOUND, Package(name="multidict", version="6.7.1", has="wheel", extensions=1)))
    answer = command("ready", "anyio", "multidict", "--json")
    assert answer.returncode == 0
    _, package = json.loads(answer.stdout)["builds"][0]["packages"]
    assert (package["source"], package["to_do"]) == (race.source, "use 6.9.1 or newer")
    assert package["note"] == race.words
