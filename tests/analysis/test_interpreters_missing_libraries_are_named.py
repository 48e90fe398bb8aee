"""What building needs is checked first; what is missing is named with what brings it."""

from collections.abc import Callable

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.interpreters import libraries
from scaling.builds.interpreters.libraries import NEEDS, Need, is_there, require
from tests.support.fake_builds import say_nothing

APT_INSTALL = "apt-get install --yes --no-install-recommends"


@pytest.fixture(autouse=True)
def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_is_root", lambda: False)


def lacks(*names: str) -> Callable[[Need], bool]:
    return lambda need: need.name not in names


def test_nothing_is_said_where_all_is_there() -> None:
    said: list[str] = []
    require(say=said.append, probe=lacks())
    assert said == []


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt", f"sudo apt-get update && sudo {APT_INSTALL} libssl-dev libffi-dev"),
        ("dnf", "sudo dnf install --assumeyes openssl-devel libffi-devel"),
        ("brew", "brew install openssl@3 libffi"),
    ],
)
def test_one_command_brings_all_that_is_missing(manager: str, command: str) -> None:
    with pytest.raises(ScalingError) as caught:
        require(
            say=say_nothing,
            probe=lacks("OpenSSL", "libffi"),
            manager=manager,
            may_install=False,
        )
    assert "needs OpenSSL, libffi" in str(caught.value)
    assert str(caught.value).splitlines()[-1].strip() == command


def test_root_needs_no_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_is_root", lambda: True)
    assert "sudo" not in (libraries.install_command(NEEDS, "apt") or "")


def test_nothing_is_installed_unasked() -> None:
    def shell(command: str) -> int:
        raise AssertionError(command)

    with pytest.raises(ScalingError):
        require(say=say_nothing, probe=lacks("zlib"), manager="apt", may_install=False, shell=shell)


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
    monkeypatch.setattr(libraries, "_is_root", lambda: root)
    assert libraries.may_change_machine() is may


def test_what_may_be_installed_is_installed() -> None:
    missing = {"zlib", "SQLite"}
    ran: list[str] = []

    def shell(command: str) -> int:
        ran.append(command)
        missing.clear()
        return 0

    require(
        say=say_nothing,
        probe=lambda need: need.name not in missing,
        manager="dnf",
        may_install=True,
        shell=shell,
    )
    assert [command.split()[-2:] for command in ran] == [["zlib-devel", "sqlite-devel"]]


@pytest.mark.parametrize("code", [0, 100])
def test_an_installation_that_did_not_help_is_reported(code: int) -> None:
    with pytest.raises(ScalingError, match="did not install it"):
        require(
            say=say_nothing,
            probe=lacks("zlib"),
            manager="apt",
            may_install=True,
            shell=lambda command: code,
        )


def test_a_header_that_does_not_exist_is_missing() -> None:
    assert not is_there(Need("nothing", "no/such/header.h", "", "", ""))


def test_a_program_that_does_not_exist_is_missing() -> None:
    assert not is_there(Need("no-such-program", None, "", "", ""))


def test_without_a_compiler_every_header_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert not is_there(Need("C compiler", "stdlib.h", "", "", ""))


def test_headers_are_asked_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "true --some-flag")
    assert is_there(Need("zlib", "zlib.h", "", "", ""))
    monkeypatch.setenv("CC", "false")
    assert not is_there(Need("zlib", "zlib.h", "", "", ""))
