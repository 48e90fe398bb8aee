"""A name that a lock file has from elsewhere never reaches an index, which may have another one.

The index here has an `acme` 9.0 of somebody else; ours is 1.0 and private.
"""

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from scaling.base.errors import UsageError
from scaling.builds import uv_tool
from scaling.builds.cpython import inspect
from scaling.builds.environments import make_empty
from scaling.builds.lock import read_lock
from scaling.builds.own_requirements import OwnRequirements
from scaling.builds.ready.package import Package
from scaling.builds.ready.resolve import Required, resolve
from tests.support.package_index import Index, serving
from tests.support.wheels import wheel

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

OF_OTHERS = "cp314-cp314-win_amd64"  # the tag of a wheel that cannot be installed here
PROJECT = """
[project]
name = "{name}"
version = "1.0"
requires-python = ">=3.12"
dependencies = {requires}
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The index that uv is set to: `shop` requires `acme`, of which it has somebody else's."""
    with serving(tmp_path / "index") as found:
        found.add("acme", "9.0")
        found.add("shop", requires=["acme"])
        monkeypatch.setenv("UV_DEFAULT_INDEX", found.url)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
        yield found


def sha256(file: Path) -> dict[str, str]:
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def project(folder: Path, name: str, requires: str = "[]", more: str = "") -> Path:
    """A project whose metadata can be read without building it."""
    folder.mkdir(parents=True)
    text = PROJECT.format(name=name, requires=requires) + more
    (folder / "pyproject.toml").write_text(text)
    return folder


def source_archive(tmp_path: Path, name: str) -> dict[str, Any]:
    file = tmp_path / f"{name}-1.0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(project(tmp_path / f"{name}-1.0", name), f"{name}-1.0")
    return {"path": f"../{file.name}", "hashes": sha256(file)}


def own_wheel(tmp_path: Path, name: str) -> dict[str, Any]:
    file = wheel(tmp_path, name, {f"{name}.py": "VERSION = '1.0'\n"}, "py3-none-any")
    return {"path": f"../{file.name}", "hashes": sha256(file)}


def from_elsewhere(tmp_path: Path) -> dict[str, tuple[dict[str, Any], str]]:
    """Each way to name a source, and what `ready` then says that the package has."""
    project(tmp_path / "folder", "folder")
    other = "https://pkg.example"
    pure = {"url": f"{other}/indexed-1.0-py3-none-any.whl", "hashes": {"sha256": "0"}}
    of_others = {"url": f"{other}/addressed-1.0-{OF_OTHERS}.whl", "hashes": {"sha256": "0"}}
    return {
        "vcs": ({"vcs": {"type": "git", "url": f"{other}/vcs", "commit-id": "a" * 40}}, "source"),
        "folder": ({"directory": {"path": "../folder", "editable": True}}, "own"),
        "archive": ({"archive": own_wheel(tmp_path, "archive")}, "pure"),
        "sdist": ({"sdist": source_archive(tmp_path, "sdist")}, "source"),
        "wheel": ({"wheels": [own_wheel(tmp_path, "wheel")]}, "pure"),
        "indexed": ({"index": f"{other}/simple", "wheels": [pure]}, "pure"),
        "addressed": ({"wheels": [of_others]}, "nothing"),
    }


def of_index(index: Index, name: str) -> dict[str, Any]:
    url = f"{index.url}/{name}/{name}-1.0-py3-none-any.whl"
    return {"index": index.url, "wheels": [{"url": url, "hashes": {"sha256": "0"}}]}


def locked(tmp_path: Path, packages: Mapping[str, Mapping[str, Any]], **keys: Any) -> Path:
    """A lock file in the folder of a project, each of whose packages is version 1.0."""
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    entries = [
        {"name": name, **({} if "directory" in each else {"version": "1.0"}), **each}
        for name, each in packages.items()
    ]
    file = folder / "pylock.toml"
    base = {"lock-version": "1.0", "created-by": "uv"}
    file.write_text(tomli_w.dumps({**base, **keys, "packages": entries}))
    return file


def resolved(required: Required) -> tuple[dict[str, Package], Mapping[str, Any], list[str]]:
    said: list[str] = []
    packages, entries = resolve(required, inspect(sys.executable), say=said.append)
    return {each.name: each for each in packages}, entries, said


def test_no_index_is_asked_for_what_is_from_elsewhere(index: Index, tmp_path: Path) -> None:
    """Neither by itself, nor since another package of the lock file requires it."""
    elsewhere = from_elsewhere(tmp_path)
    for name in elsewhere:
        index.add(name, "9.0")
    index.add("shop", requires=[*elsewhere])
    packages = {name: entry for name, (entry, _) in elsewhere.items()}
    file = locked(tmp_path, {**packages, "shop": of_index(index, "shop")})
    found, entries, _ = resolved(Required(files=[file]))
    assert index.asked == {"shop"}
    has = {name: each.has for name, each in found.items()}
    assert has == {"shop": "pure", **{name: each for name, (_, each) in elsewhere.items()}}
    for name in elsewhere:
        assert found[name].version in ("1.0", "")
        assert found[name].first_with_wheel == ""
        written = str(entries.get(name, ""))
        assert "9.0" not in written
        assert "../" not in written


def test_a_lock_file_of_uv_is_read_alike(index: Index, tmp_path: Path) -> None:
    project(tmp_path / "beside" / "acme", "acme")
    index.add("pytest")
    sources = (
        '[tool.uv.sources]\nacme = { path = "../beside/acme" }\n'
        '[project.optional-dependencies]\ntls = ["pytest"]\n'
        '[dependency-groups]\ndev = ["pytest"]\ndocs = ["pytest"]\nweb = []\n'
        '[tool.uv]\ndefault-groups = ["dev", "web"]\n'
    )
    folder = project(tmp_path / "mine", "mine", '["acme", "shop"]', sources)
    uv_tool.must(
        uv_tool.run(["lock", "--project", str(folder), "--python", sys.executable]), "the project"
    )
    index.asked.clear()
    found, _, said = resolved(Required(files=[folder / "uv.lock"]))
    assert said == [
        "uv.lock: left out: the groups dev and docs",
        "uv.lock: left out: the extra tls",
        "uv.lock: left out: mine, the project itself",
    ]
    assert {name: each.has for name, each in found.items()} == {"acme": "own", "shop": "pure"}
    assert index.asked <= {"shop"}


@pytest.mark.thorough
def test_more_is_asked_of_the_index_that_a_file_names(index: Index, tmp_path: Path) -> None:
    """What is there instead of a wheel, and which later version has one."""
    with serving(tmp_path / "own") as own:
        own.add("acme", tag=OF_OTHERS)
        own.add("acme", "2.0")
        file = tmp_path / "requirements.txt"
        file.write_text(f"--extra-index-url {own.url}\nacme<2\n")
        outer = tmp_path / "all.txt"
        outer.write_text("-r requirements.txt\n")
        found, _, _ = resolved(Required(files=[outer]))
        assert found["acme"].version == "1.0"
        assert found["acme"].first_with_wheel == "2.0"
    assert index.asked == set()


def test_an_index_of_a_file_wins_over_that_of_pip(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does in pip: uv gets pip's settings by its variables, which win over a file."""
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    with serving(tmp_path / "own") as own:
        own.add("acme")
        file = tmp_path / "requirements.txt"
        file.write_text(f"--index-url {own.url}\nacme\n")
        found, _, _ = resolved(Required(files=[file]))
    assert found["acme"].version == "1.0"
    assert index.asked == set()


@pytest.mark.thorough
def test_a_source_of_the_projects_own_and_an_address_are_not_looked_up(
    index: Index, tmp_path: Path
) -> None:
    with serving(tmp_path / "own") as own:
        own.add("acme", tag=OF_OTHERS)
        sources = (
            '[tool.uv.sources]\nacme = { index = "own" }\n[[tool.uv.index]]\nname = "own"\n'
            f'url = "{own.url}"\nexplicit = true\n'
        )
        folder = project(tmp_path / "mine", "mine", '["acme"]', sources)
        found, _, _ = resolved(Required(files=[folder / "pyproject.toml"]))
    assert (found["acme"].version, found["acme"].has) == ("1.0", "nothing")
    source_archive(tmp_path, "acme")
    file = tmp_path / "requirements.txt"
    file.write_text(f"acme @ {(tmp_path / 'acme-1.0.tar.gz').as_uri()}\n")
    found, _, _ = resolved(Required(files=[file]))
    assert (found["acme"].version, found["acme"].has) == ("1.0", "source")
    assert index.asked == set()


def test_an_environment_gets_what_the_lock_file_names(index: Index, tmp_path: Path) -> None:
    """`scaling app --with-requirements pylock.toml`, with something beside it that requires it."""
    interpreter = inspect(sys.executable)
    python = make_empty(interpreter, tmp_path / "environment")
    packages: dict[str, dict[str, Any]] = {
        "acme": {"wheels": [own_wheel(tmp_path, "acme")]},
        "mine": {"directory": {"path": "."}},
    }
    file = locked(tmp_path, packages)
    said: list[str] = []
    command = ["pip", "install", "--python", str(python)]
    own = OwnRequirements(["shop"], [str(file)])
    own.install(uv_tool.run, command, interpreter, said.append)
    answer = subprocess.run(
        [python, "-c", "import acme, shop; print(acme.VERSION)"], capture_output=True, text=True
    )
    assert answer.stdout == "1.0\n"
    assert index.asked == {"shop"}
    assert said == ["  pylock.toml: left out: mine, the project itself"]


def test_a_folder_of_a_lock_file_makes_another_environment_when_it_changes(tmp_path: Path) -> None:
    def made_from() -> list[object]:
        return list(OwnRequirements(files=[str(file)]).made_from("3.14.7"))

    file = locked(tmp_path, {"folder": from_elsewhere(tmp_path)["folder"][0]})
    before = made_from()
    assert made_from() == before
    (tmp_path / "folder/new.py").write_text("")
    assert made_from() != before


DEFAULT, DEV, TLS = (
    '"default" in dependency_groups',
    '"dev" in dependency_groups',
    '"tls" in extras',
)
NEVER = 'python_version < "3.9"'


@pytest.mark.parametrize(
    ("markers", "keys", "names", "said"),
    [
        (  # as PDM writes it
            {"a": DEFAULT, "b": DEV, "c": f"{DEFAULT} or {DEV}"},
            {"dependency-groups": ["default", "dev"], "default-groups": ["default"]},
            ["a", "c"],
            ["the group dev"],
        ),
        (
            {"a": "", "b": DEV, "c": TLS},
            {"dependency-groups": ["dev", "docs"], "extras": ["tls"]},
            ["a"],
            ["the groups dev and docs", "the extra tls"],
        ),
        (
            {"a": f"{DEFAULT} and {NEVER}", "b": f'{DEFAULT} and python_version >= "3.14"'},
            {"default-groups": ["default"]},
            ["b"],
            [],
        ),
        ({"a": f"{TLS} or {DEV}"}, {"default-groups": ["dev"]}, ["a"], []),
    ],
)
def test_groups_and_extras_are_those_of_the_default(
    markers: Mapping[str, str],
    keys: Mapping[str, Any],
    names: list[str],
    said: list[str],
    index: Index,
    tmp_path: Path,
) -> None:
    packages = {
        name: {**of_index(index, name), **({"marker": text} if text else {})}
        for name, text in markers.items()
    }
    found = read_lock(locked(tmp_path, packages, **keys), "3.14.7")
    assert found.pins == tuple(f"{name}==1.0" for name in names)
    assert found.left_out == tuple(f"pylock.toml: left out: {each}" for each in said)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pylock.toml", "packages = [", "not a lock file"),
        ("pylock.toml", 'lock-version = "1.0"\ncreated-by = "x"\n', "packages"),
        ("pylock.toml", "\xff", "not a lock file"),
        ("uv.lock", "nonsense", "cannot be read"),
        ("poetry.lock", "", "a lock file of another tool"),
    ],
)
def test_what_is_no_lock_file_is_said_in_a_line(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as refused:
        read_lock(tmp_path / name, "3.14.7")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
