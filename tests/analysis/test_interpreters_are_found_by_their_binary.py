"""Every interpreter here is found once, the best one first, and is what its binary says."""

import platform
import sys
import sysconfig
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError
from scaling.builds import uv_tool
from scaling.builds.cpython import BUILDS, VERSIONS, inspect, parse_build
from scaling.builds.interpreters.find import survey
from tests.support.fake_builds import Uv, answer, interpreter, python_script, script


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing but what a test puts below it."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    uv = Uv(("python dir", answer(str(tmp_path / "uv"))))
    monkeypatch.setattr(uv_tool, "run", uv)
    return tmp_path


def found(machine: Path, *builds: str) -> list[tuple[str, str, str]]:
    wanted = [parse_build(name) for name in builds or ("3.14", "3.14t")]
    return [
        (one.build, one.version, one.origin)
        for one in survey(wanted)
        if one.executable.is_relative_to(machine)  # not what the machine below really has
    ]


def test_each_place_is_looked_at(machine: Path) -> None:
    python_script(machine / "bin/python3.14", "3.14.9", free_threaded=False)
    python_script(machine / "uv/cpython-3.14.10-l/bin/python3.14", "3.14.10", free_threaded=False)
    python_script(machine / "pyenv/versions/3.14.8/bin/python3.14", "3.14.8", free_threaded=False)
    python_script(
        machine / "cache/interpreters/3.14.7/bin/python3.14", "3.14.7", free_threaded=False
    )
    assert found(machine) == [
        ("3.14", "3.14.10", "uv"),
        ("3.14", "3.14.9", "PATH"),
        ("3.14", "3.14.8", "pyenv"),
        ("3.14", "3.14.7", "built"),
    ]


def test_one_binary_with_many_names_is_one_interpreter(machine: Path) -> None:
    binary = python_script(machine / "uv/cpython-3.14.7+f/bin/python3.14t", "3.14.7",
                           free_threaded=True)  # fmt: skip
    (binary.parent / "python3.14").hardlink_to(binary)
    (binary.parent / "python3").symlink_to("python3.14t")
    (machine / "bin").mkdir()
    (machine / "bin/python3.14t").symlink_to(binary)
    assert found(machine) == [("3.14t", "3.14.7", "uv")]


def test_what_leads_nowhere_is_passed_over_and_other_versions_are_not_even_asked(
    machine: Path,
) -> None:
    script(machine / "bin/python3.14", "exit 127")
    (machine / "bin/python3").symlink_to(machine / "gone")
    script(machine / "bin/python3.13", f"touch {machine / 'asked'}")
    script(machine / "pyenv/versions/3.13.0/bin/python3", f"touch {machine / 'asked'}")
    half_made = machine / "cache/interpreters/.3.14.7~x/bin/python3.14"
    python_script(half_made, "3.14.7", free_threaded=False)
    python_script(machine / "bin/python3.14t", "3.14.7", free_threaded=True)
    assert found(machine) == [("3.14t", "3.14.7", "PATH")]
    assert not (machine / "asked").exists()


# --- what a binary is ---------------------------------------------------------------------------


@pytest.mark.slow
def test_this_one() -> None:
    """Through the virtual environment that it may be called in."""
    found = inspect(sys.executable)
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert found.version == platform.python_version()
    assert found.free_threaded is free_threaded
    assert found.build == f"3.{sys.version_info.minor}{'t' if free_threaded else ''}"
    assert found.compiler == platform.python_compiler()
    assert found.missing == ()
    assert found.executable.is_relative_to(sys.base_prefix)


def test_its_name_is_not_believed_and_no_path_is_kept_of_its_flags(tmp_path: Path) -> None:
    flags = "'--prefix=/home/somebody' '--enable-optimizations' '--with-lto=full' 'CC=/x/cc'"
    path = tmp_path / "python3.13"
    found = inspect(python_script(path, "3.14.7", free_threaded=True, config_args=flags))
    assert found.build == "3.14t"
    assert found.config_args == ("--enable-optimizations", "--with-lto=full")
    assert found.flags == "PGO+LTO"
    assert interpreter().flags == "-O3"


@pytest.mark.parametrize("does", ["exit 127", "echo no JSON", "exec /nowhere/python"])
def test_what_is_no_python_is_said(tmp_path: Path, does: str) -> None:
    with pytest.raises(ScalingError, match="does not run as Python"):
        inspect(script(tmp_path / "python3", does))


# --- the name of a build ------------------------------------------------------------------------


def test_every_build_and_session_has_a_name_that_is_read_back() -> None:
    for build in BUILDS:
        assert parse_build(build.name) == build
    assert [parse_build(name).name for name in VERSIONS] == list(VERSIONS)
