"""Every extension module that is required is imported on a free-threaded build, and judged."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import uv_tool
from scaling.builds.cpython import inspect
from scaling.builds.environments import make_empty
from scaling.builds.ready.examine import examine, examine_installed
from scaling.builds.ready.package import REPLACEMENTS, Readiness
from scaling.builds.ready.resolve import Required
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.wheels import SUFFIX, compile_flips, extension, wheel

pytestmark = [pytest.mark.slow, pytest.mark.free_threaded]

BISECT = f"_bisect{SUFFIX}"
TOUCHING = "import pathlib\npathlib.Path(__file__).with_name('built').touch()\n"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def tried(*names: str | Path, said: list[str] | None = None, **options: Any) -> Readiness:
    required = Required(names=[str(name) for name in names])
    say = (said if said is not None else []).append
    return examine(required, inspect(sys.executable), say=say, **options)


SEGFAULT = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
SAYS = {  # the code of a package with an extension module, and what blocks it
    "asks": ("input('ready? ')", "cannot be imported: EOFError"),
    "crash": (SEGFAULT, "importing crash._bisect ends the interpreter (SIGSEGV)"),
    "exits": ("import os\nos._exit(3)", "importing exits._bisect ends the interpreter (exit code"),
    "hangs": ("import time\ntime.sleep(99)", "importing hangs._bisect takes more than 2 s"),
}


def test_each_package_is_judged_by_itself(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another one turns on is not its fault, nor a library a module; a question has no answer.

    Where one had no time, all are tried again the next time.
    """
    speed, flips = extension(tmp_path), compile_flips(tmp_path) / f"flips{SUFFIX}"
    files: dict[str, dict[str, str | Path]] = {
        "gilly": {"gilly/__init__.py": "", f"gilly/flips{SUFFIX}": flips, f"gilly/{BISECT}": speed},
        "using": {
            "using/__init__.py": "try: import gilly.flips\nexcept ImportError: pass",
            f"using/{BISECT}": speed,
        },
        "stable": {"stable/__init__.py": SEGFAULT, "stable/_bisect.abi3.so": speed},
        "does": {
            "does/__init__.py": "try: import does.own\nexcept ImportError: pass",
            "does/own/__init__.py": "raise ImportError('not on this build')",
            f"does/own/{BISECT}": speed,
        },
        "brings": {
            "brings/__init__.py": "",
            "brings/lib/other.so": speed,
            "brings.libs/b-1.so": speed,
        },
    }
    for name, (code, _) in SAYS.items():
        files[name] = {f"{name}/__init__.py": code, f"{name}/{BISECT}": speed}
    monkeypatch.setenv("PYTHON_GIL", "0")  # would hide it
    monkeypatch.setattr("scaling.builds.ready.imports.IMPORT_LIMIT_S", 2)
    result = tried(*(wheel(tmp_path, name, each) for name, each in files.items()))
    found = {each.name: each for each in result.packages}
    assert {each.name for each in result.blocking} == {"gilly", "stable", *SAYS}
    assert result.sentence.startswith("Not ready for 3.14t: of 9 distributions ")
    for name, (_, says) in SAYS.items():
        assert says in found[name].blocks
    gilly = found["gilly"]
    assert (gilly.has, gilly.extensions, gilly.gil_on) == ("wheel", 2, ("gilly.flips",))
    assert gilly.blocks == "turns the GIL on: gilly.flips"
    assert gilly.ends == gilly.not_loaded == {}
    assert found["stable"].blocks == (
        "importing stable._bisect ends the interpreter (SIGSEGV): "
        "it is abi3, made for builds with the GIL"
    )
    without = "works without does.own._bisect: ImportError: not on this build"
    assert (found["does"].blocks, found["does"].note) == ("", without)
    assert found["brings"].note == ""
    assert not list((cache / "readiness").glob("3.14t-*"))


def test_the_application_is_imported_last_and_nothing_is_written_beside_it(
    tmp_path: Path,
) -> None:
    flips = compile_flips(tmp_path) / f"flips{SUFFIX}"
    source = tmp_path / "src"
    source.mkdir()
    (source / "shop.py").write_text("import flips\n")
    required = wheel(tmp_path, "flips", {f"flips{SUFFIX}": flips})
    said: list[str] = []
    assert tried(required) == tried(required, said=said)  # what was found is kept
    assert said == ["resolving for CPython 3.14t"]
    found = tried(required, application=("shop", source))
    assert found.packages[-1].blocks == "turns the GIL on: flips"
    assert [each.name for each in source.iterdir()] == ["shop.py"]


def test_an_environment_of_the_users_own_is_left_as_it_is(tmp_path: Path) -> None:
    speed = extension(tmp_path)
    flips = compile_flips(tmp_path) / f"flips{SUFFIX}"
    files = {"gilly/__init__.py": "", f"gilly/flips{SUFFIX}": flips, f"gilly/{BISECT}": speed}
    paths = wheel(tmp_path, "gilly", files), wheel(tmp_path, "plain", {"plain.py": ""})
    interpreter = inspect(sys.executable)
    python = make_empty(interpreter, tmp_path / "own")
    uv_tool.must(uv_tool.run(["pip", "install", "--python", str(python), *map(str, paths)]), "them")
    before = sorted((tmp_path / "own").rglob("*"))
    found = examine_installed(python, interpreter, say=lambda _: None)
    assert [(each.name, each.has, each.blocks) for each in found.packages] == [
        ("gilly", "wheel", "turns the GIL on: gilly.flips"),
        ("plain", "pure", ""),
    ]
    assert sorted((tmp_path / "own").rglob("*")) == before


def test_a_wheel_for_another_build_alone_is_nothing_to_install(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    path = wheel(tmp_path / "index", "elsewhere", {"elsewhere.py": ""}, "cp314-cp314-win_amd64")
    file = tmp_path / "requirements.txt"
    file.write_text(f"--no-index\n--find-links {path.parent}\nelsewhere\n")
    found = examine(Required(files=[file]), inspect(sys.executable), say=lambda _: None)
    assert [each.blocks for each in found.packages] == ["neither a wheel for 3.14t nor a source"]


def test_a_source_is_built_only_when_that_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "touching"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "touching"\ndynamic = ["version"]\n[build-system]\nrequires = []\n'
        'build-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(TOUCHING)
    file = tmp_path / "requirements.txt"
    file.write_text(f"{folder}\n")
    required, interpreter = Required(files=[file]), inspect(sys.executable)
    with pytest.raises(
        UsageError, match=r"^touching is a folder or an archive whose requirements are"
    ):
        examine(required, interpreter, say=lambda _: None)
    assert not (folder / "built").exists()
    assert examine(required, interpreter, say=lambda _: None, build=True).blocking
    assert (folder / "built").exists()


def test_no_network_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", os.devnull + "/none")
    with pytest.raises(ScalingError) as said:
        tried("six")
    assert "\n" not in str(said.value)


def test_the_workflow_of_a_page_guards_readiness(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It fails where a requirement turns the GIL on."""
    page = (ROOT / "scaling/application.md").read_text(encoding="utf-8")
    (workflow,) = (
        each for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "ready" in each
    )
    (run,) = re.findall(r"run: scaling (ready .*)$", workflow, re.MULTILINE)
    module = f"flips{SUFFIX}"
    path = wheel(tmp_path, "flips", {module: compile_flips(tmp_path) / module})
    (tmp_path / "requirements.txt").write_text(f"{path}\n")
    here = inspect(sys.executable)
    monkeypatch.setattr("scaling.builds.interpreters.ensure", lambda *_, **__: {here.build: here})
    monkeypatch.setattr("scaling.builds.interpreters.find.survey", lambda *_: [])
    done = command(*shlex.split(run))
    assert (done.returncode, done.stdout[:9]) == (1, "Not ready")


def test_packages_as_people_have_them() -> None:
    names = (
        *("aiohttp", "brotli==1.2.1", "cryptography==45.0.1", "docopt==0.6.2", "lxml==6.1.3"),
        *("orjson==3.13.0", "protobuf==7.36.2", "psycopg2-binary==2.9.13"),
    )
    found = {each.name: each for each in tried(*names).packages}
    assert {name for name, each in found.items() if each.blocks} == {
        *("brotli", "cryptography", "lxml", "orjson", "psycopg2-binary")
    }
    assert "lxml.etree" in found["lxml"].gil_on
    assert found["aiohttp"].extensions
    docopt = found["docopt"]
    assert (docopt.has, docopt.note) == ("source", "only a source, on every build")
    assert found["cryptography"].only_abi3
    assert found["cryptography"].first_with_wheel == "46.0.0"
    assert found["protobuf"].note.startswith("pure Python, slower than the wheel")
    assert found["aiosignal"].needed_by == ("aiohttp",)


@pytest.mark.thorough
def test_what_replaces_a_package_leaves_the_gil_off() -> None:
    found = tried(*sorted({name for each in REPLACEMENTS.values() for name in each.tried}))
    assert {each.name: each.blocks for each in found.packages if each.blocks} == {}
