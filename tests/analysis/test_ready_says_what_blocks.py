"""`scaling ready` prints a sentence and a table; its exit code says whether anything blocks."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version
from rich.console import Console

from scaling.base.errors import UsageError
from scaling.builds.cpython import Interpreter
from scaling.builds.ready.imports import extension_modules
from scaling.builds.ready.package import (
    OTHERWISE,
    REPLACEMENTS,
    Package,
    Readiness,
    instead_of_module,
)
from scaling.builds.ready.races import FILE, known_races
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


@pytest.mark.parametrize(
    ("package", "blocks", "note"),
    [
        (SOUND, "", ""),
        (LXML, "turns the GIL on: lxml.etree, lxml._elementpath", ""),
        (OLD, "no wheel, only a source: its wheels are abi3", ""),
        (
            SLOWER,
            "",
            "pure Python, slower than the wheel for the build with the GIL, which is abi3",
        ),
        (SOURCE, "", "only a source, on every build"),
        (Package(name="gone", has="nothing"), "nothing to install", ""),
    ],
)
def test_what_blocks_and_what_is_only_said(package: Package, blocks: str, note: str) -> None:
    assert (package.blocks, package.note) == (blocks, note)


def test_what_blocks_comes_first_with_what_to_do_and_the_next_version_beside_it() -> None:
    text = shown(of(SOUND, SLOWER, OLD, LXML), of(SOUND, build="3.15t"))
    assert text.startswith("Not ready for 3.14t: of 4 distributions cryptography and lxml block.")
    assert text.index("cryptography 45.0.1") < text.index("protobuf") < text.index("anyio")
    assert "46.0.0 is the first version with a wheel" in text
    assert "needed by pages; use lxml 7.0" in text
    assert f"lxml: {REPLACEMENTS['lxml'].source}" in text
    assert "Ready for 3.15t: 1 distribution; the GIL stays off." in text


def test_every_entry_of_the_registries_has_a_public_source_and_says_what_to_do() -> None:
    for name, each in REPLACEMENTS.items():
        assert each.source.startswith("https://github.com/"), name
        assert each.instead, name
    assert "asyncpg" in instead_of_module("psycopg2._psycopg")
    assert "supports this build" in instead_of_module("unknown.module")
    names = re.findall(r'^package = "(.+)"$', FILE.read_text(), re.MULTILINE)
    assert names == sorted(known_races())  # in order, each once
    for name, race in known_races().items():
        assert race.source.startswith("https://github.com/"), name
        assert race.to_do, name
        assert all(str(Version(each)) == each for each in (race.since, race.fixed) if each)
        assert name == canonicalize_name(name)


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name packages, a file of requirements with -r, or --app MODULE:NAME"),
        (["--app", "shop.main"], "expected package.module:name"),
        (["--app", "shop.main:app"], "no pylock.toml, uv.lock, requirements.txt, pyproject.toml"),
        (["--app", "shop.main:app", "--path", "none"], "there is no such folder"),
    ],
)
def test_bad_input_is_said_in_a_line(
    arguments: list[str], said: str, command: Command, examined: Callable[[Readiness], object]
) -> None:
    examined(of(SOUND))
    answer = command("ready", *arguments)
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert said in answer.stderr


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
        "not known whether what it requires is ready for 3.14t: no such thing\n"
    )


def test_abi3t_is_no_abi3() -> None:
    """PEP 803: `abi3t` is made for free-threaded builds, alone or together with `abi3`."""
    files = ["a/x.abi3t.so", "a/y.abi3.so", "a/z.cpython-315t-x86_64-linux-gnu.so", "a/lib.so.1"]
    suffixes = [".cpython-315t-x86_64-linux-gnu.so", ".abi3t.so", ".abi3.so", ".so"]
    assert extension_modules(files, suffixes) == {"a.x": False, "a.y": True, "a.z": False}
    assert extension_modules(files[:1], [".cpython-314t-x86_64-linux-gnu.so", ".so"]) == {}


RACING = Package(name="multidict", version="6.7.1", has="wheel", extensions=1)


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


def test_known_races_are_said_and_block_nothing(
    command: Command, examined: Callable[[Readiness], object]
) -> None:
    race = known_races()["multidict"]
    found = of(SOUND, RACING)
    assert found.sentence.endswith("1 with a note; the GIL stays off. Known races: multidict.")
    text = shown(found)
    assert "known races before 6.9.1" in text
    assert f"multidict: {race.source}" in text
    assert list(blocking_lines(found)) == [
        f"  multidict 6.7.1: {race.words}", "    use 6.9.1 or newer", f"    {race.source}",
    ]  # fmt: skip
    examined(found)
    answer = command("ready", "anyio", "multidict", "--json")
    assert answer.returncode == 0
    _, package = json.loads(answer.stdout)["builds"][0]["packages"]
    assert (package["source"], package["to_do"]) == (race.source, "use 6.9.1 or newer")
    assert package["note"] == race.words
    both = replace(RACING, gil_on=("multidict._multidict",))
    assert (bool(both.blocks), both.note) == (True, "")
    slower = Package(name="regex", version="2025.11.3", has="pure", compiled_with_gil=True)
    assert slower.note.startswith("known races before 2026.7.10: ")
    assert slower.note.endswith("; pure Python, slower than the wheel for the build with the GIL")
