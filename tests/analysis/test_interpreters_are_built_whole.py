"""A build is the wanted interpreter, in the cache under its name, or an error with the log's end.

What building needs is checked first; what is missing is named with what brings it. The source here
is a `configure` that takes no time, and a `make` of the same kind.
"""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.cpython import Interpreter, parse_build
from scaling.builds.interpreters import source
from scaling.builds.interpreters.build import follow, from_source
from scaling.builds.interpreters.source import Need, require_libraries
from tests.support.fake_builds import python_script, say_nothing, script

CONFIGURE = """#!/bin/sh
echo "$@" > flags
pwd > tree
"""


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source, and a `make` that installs what `interpreter` below puts into `made`."""
    archive = tmp_path / "Python-3.14.7.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        member = tarfile.TarInfo("Python-3.14.7/configure")
        member.size, member.mode = len(CONFIGURE), 0o755
        tar.addfile(member, io.BytesIO(CONFIGURE.encode()))
    script(
        tmp_path / "bin/make",
        'if [ "$1" = install ]; then',
        "  prefix=$(sed 's/.*--prefix=\\([^ ]*\\).*/\\1/' flags)",
        '  root="${2#DESTDIR=}$prefix"',
        f'  mkdir -p "$root/bin" && cp {tmp_path}/made/* "$root/bin" && cp flags "$root"',
        "fi",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SCALING_CPYTHON_SOURCE", str(archive))
    monkeypatch.setattr(source, "SHA256", {"3.14.7": source.sha256(archive)})
    monkeypatch.setattr(source, "require_libraries", lambda *, say: None)
    made(tmp_path)
    return tmp_path


def made(folder: Path, version: str = "3.14.7", **other: object) -> None:
    """Let the next build produce this."""
    for name, free_threaded in (("python3.14", False), ("python3.14t", True)):
        python_script(folder / "made" / name, version, free_threaded=free_threaded, **other)


def built(name: str) -> Interpreter:
    return from_source(parse_build(name), pgo=False, say=say_nothing)


def kept(folder: Path) -> list[str]:
    cache = folder / "cache/interpreters"
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


@pytest.mark.slow
def test_each_is_built_once_into_a_folder_of_its_name_with_the_same_flags_but_one(
    toolchain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    flags: dict[str, set[str]] = {}
    for name, pgo, folder in (
        ("3.14", False, "3.14.7"),
        ("3.14t", False, "3.14.7t"),
        ("3.14", True, "3.14.7-pgo"),
    ):
        found = from_source(parse_build(name), pgo=pgo, say=said.append)
        assert (found.build, found.origin) == (name, "built")
        words = (toolchain / "cache/interpreters" / folder / "flags").read_text().split()
        flags[folder] = {word for word in words if not word.startswith("--prefix=")}
    monkeypatch.setattr(source, "require_libraries", pytest.fail)
    assert built("3.14t").build == "3.14t"  # it needs no compiler any more
    assert kept(toolchain) == sorted(flags)
    assert flags["3.14.7t"] - flags["3.14.7"] == {"--disable-gil"}
    assert flags["3.14.7-pgo"] - flags["3.14.7"] == {"--enable-optimizations"}
    assert flags["3.14.7"] <= flags["3.14.7t"]
    assert sum("building CPython 3.14.7t (once): about" in line for line in said) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"version": "3.14.6"}, "gave 3.14 3.14.6"), ({"missing": ["_ssl"]}, "without _ssl")],
)
def test_what_is_not_as_wanted_is_not_kept(
    toolchain: Path, wrong: dict[str, str], message: str
) -> None:
    made(toolchain, **wrong)
    with pytest.raises(ScalingError, match=message):
        built("3.14")
    assert kept(toolchain) == []


def test_a_failure_shows_the_end_of_its_log(toolchain: Path) -> None:
    lines = "; ".join(f"echo line {number}" for number in range(40))
    script(toolchain / "bin/make", lines, "echo no zlib.h >&2", "exit 2")
    with pytest.raises(ScalingError) as caught:
        built("3.14")
    message = str(caught.value)
    log = toolchain / "cache/logs/build-3.14.7.log"
    assert "building CPython 3.14.7 failed (make -j" in message
    assert str(log) in message
    assert message.endswith("    line 39\n    no zlib.h")
    assert "line 3\n" not in message
    assert "line 3\n" in log.read_text()
    assert kept(toolchain) == []


def test_an_interruption_ends_all_that_was_started(toolchain: Path) -> None:
    fifo = toolchain / "alive"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # A child and its child hold the pipe's other end for as long as they live.
        command = ["sh", "-c", f"exec 3>{fifo}; sleep 600 & echo started; wait"]

        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            follow(command, folder=toolchain, log=toolchain / "log", on_line=interrupt)
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


APT_INSTALL = "apt-get install --yes --no-install-recommends"


@pytest.fixture(autouse=True)
def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_is_root", lambda: False)


def lacks(*names: str) -> Callable[[Need], bool]:
    return lambda need: need.name not in names


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt", f"sudo apt-get update && sudo {APT_INSTALL} libssl-dev libffi-dev"),
        ("dnf", "sudo dnf install --assumeyes openssl-devel libffi-devel"),
        ("brew", "brew install openssl@3 libffi"),
    ],
)
def test_one_command_brings_all_that_is_missing(manager: str, command: str) -> None:
    with pytest.raises(ScalingError) as caught:  # and nothing is installed unasked
        require_libraries(
            say=say_nothing,
            probe=lacks("OpenSSL", "libffi"),
            manager=manager,
            may_install=False,
            shell=pytest.fail,
        )
    assert "needs OpenSSL, libffi" in str(caught.value)
    assert str(caught.value).splitlines()[-1].strip() == command


@pytest.mark.parametrize(
    ("root", "variables", "may"),
    [
        (True, {"SCALING_YES": "1"}, True),
        (True, {"CI": "true"}, True),
        (True, {}, False),
        (False, {"SCALING_YES": "1", "CI": "true"}, False),
    ],
)
def test_only_root_who_said_yes_or_ci_may_install(
    monkeypatch: pytest.MonkeyPatch, root: bool, variables: dict[str, str], may: bool
) -> None:
    for name in ("SCALING_YES", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(source, "_is_root", lambda: root)
    assert source.may_change_machine() is may
