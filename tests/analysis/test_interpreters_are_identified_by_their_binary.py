"""An interpreter is what its binary says, whatever it is called and wherever it is found."""

import platform
import sys
import sysconfig
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.interpreters import inspect
from tests.support.fake_builds import interpreter, python_script, script


@pytest.mark.slow
def test_this_one() -> None:
    found = inspect(sys.executable)
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert found.version == platform.python_version()
    assert found.free_threaded is free_threaded
    assert found.build == f"3.{sys.version_info.minor}{'t' if free_threaded else ''}"
    assert found.compiler == platform.python_compiler()
    assert found.missing == ()


@pytest.mark.slow
def test_a_virtual_environment_is_looked_through() -> None:
    assert inspect(sys.executable).executable.is_relative_to(sys.base_prefix)


def test_its_name_is_not_believed(tmp_path: Path) -> None:
    path = python_script(tmp_path / "python3.13", "3.14.7", free_threaded=True)
    assert inspect(path).build == "3.14t"


def test_no_path_is_kept_of_its_flags(tmp_path: Path) -> None:
    flags = "'--prefix=/home/somebody' '--enable-optimizations' '--with-lto=full' 'CC=/x/cc'"
    found = inspect(python_script(tmp_path / "p", "3.14.7", free_threaded=False, config_args=flags))
    assert found.config_args == ("--enable-optimizations", "--with-lto=full")
    assert found.flags == "PGO+LTO"


def test_flags_without_pgo() -> None:
    assert interpreter().flags == "-O3"


@pytest.mark.parametrize("does", ["exit 127", "echo no JSON", "exec /nowhere/python"])
def test_what_is_no_python_is_said(tmp_path: Path, does: str) -> None:
    with pytest.raises(ScalingError, match="does not run as Python"):
        inspect(script(tmp_path / "python3", does))


def test_another_implementation_is_no_build(tmp_path: Path) -> None:
    path = python_script(
        tmp_path / "python3", "3.11.13", free_threaded=False, implementation="pypy"
    )
    with pytest.raises(ScalingError, match="pypy"):
        inspect(path)
