"""An environment holds its pins and nothing else, is made once, and is whole or not there."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import environments
from scaling.builds.environments import (
    NoWheelError,
    ensure,
    left_out,
)
from scaling.builds.own_requirements import OwnRequirements
from tests.support.fake_builds import Uv, answer, interpreter, make_venv, say_nothing

PINS = """\
aiohttp==3.14.5 \\
    --hash=sha256:aa
    # via asyncio-scaling (pyproject.toml:child)
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:bb
uvloop==0.23.0 \\
    --hash=sha256:cc
"""

NO_UVLOOP = answer(
    stderr="error: No solution found\n"
    "  cause: Because uvloop==0.23.0 has no wheels with a matching Python ABI tag (e.g., `cp313t`)",
    code=1,
)
UNREACHABLE = answer(
    stderr="Using Python 3.14.7 environment at: somewhere\n"
    "error: Failed to fetch: `https://index.example/simple/aiohttp/`\n",
    code=2,
)


@pytest.fixture(autouse=True)
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pins of three packages for the groups `child` and `study`, and an empty cache."""
    folder = tmp_path / "pins"
    folder.mkdir()
    for group in ("child", "study"):
        (folder / f"{group}.txt").write_text(PINS)
    monkeypatch.setattr(environments, "PINS", folder)
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    return folder


def uv(*rules: tuple[str, subprocess.CompletedProcess[str] | Callable[[str], object]]) -> Uv:
    return Uv(*rules, ("venv ", make_venv))


def made(
    pretended: Uv, build: str = "3.14t", group: str = "child", extra: Sequence[str] = ()
) -> Path:
    own = OwnRequirements(extra) if extra else None
    return ensure(interpreter(build), group=group, own=own, say=say_nothing, uv=pretended)


def kept(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache/environments"
    return [path.name for path in folder.iterdir() if path.suffix != ".lock"]


def test_it_has_what_was_pinned_with_hashes_and_wheels_only() -> None:
    pretended = uv()
    python = made(pretended)
    assert python.is_file()
    assert left_out(python) == {}
    (install,) = [command for command in pretended.commands if "pip install" in command]
    assert "--require-hashes --no-build" in install
    assert "--seed" not in pretended.commands[0]


@pytest.mark.parametrize("change", ["nothing", "pins", "version", "extra", "flags", "group"])
def test_another_one_is_made_when_anything_changes(pinned: Path, change: str) -> None:
    """But for the place where its interpreter was found."""
    one = interpreter("3.14t", executable=Path("/nowhere/python3.14t"))
    before = ensure(one, say=say_nothing, uv=uv())
    group, own, again = "child", None, uv()
    if change == "pins":
        (pinned / "child.txt").write_text(PINS.replace("0.23.0", "0.24.0"))
    elif change == "extra":
        own = OwnRequirements(["redis"])
    elif change == "group":
        group = "study"
    else:
        changes: dict[str, dict[str, Any]] = {
            "version": {"version": "3.14.8"},
            "flags": {"pgo": True},
        }
        one = replace(one, **changes.get(change, {"origin": "built"}))
    after = ensure(one, group=group, own=own, say=say_nothing, uv=again)
    assert (after == before) == (again.commands == []) == (change == "nothing")


def test_what_a_user_adds_comes_after_the_pins_and_without_hashes() -> None:
    pretended = uv()
    made(pretended, extra=["redis>=7"])
    pins, own = [command for command in pretended.commands if "pip install" in command]
    assert "--require-hashes" in pins
    assert own.endswith("-- redis>=7")
    assert "--require-hashes" not in own


def test_what_a_user_adds_in_vain_is_said(tmp_path: Path) -> None:
    pretended = uv(("no-such-thing", answer(stderr="error: not in the registry", code=1)))
    with pytest.raises(UsageError, match=r"no-such-thing cannot be installed: .*not in the"):
        made(pretended, extra=["no-such-thing"])
    assert kept(tmp_path) == []


def uv_for_3_13t(installed: list[str]) -> Uv:
    """No wheel of uvloop; `installed` gets the text of what is installed without it."""

    def install(command: str) -> object:
        text = Path(command.rpartition(" ")[2]).read_text()
        if "uvloop" in text:
            return NO_UVLOOP
        if "--dry-run" not in command:
            installed.append(text)
        return answer()

    return uv(("pip install", install))


def test_a_package_without_a_wheel_is_left_out_and_named() -> None:
    installed: list[str] = []
    said: list[str] = []
    one = interpreter("3.13t", "3.13.5")
    python = ensure(one, say=said.append, uv=uv_for_3_13t(installed))
    lacks = left_out(python)
    assert lacks == {"uvloop": "no wheel of uvloop for 3.13t"}
    (text,) = installed
    assert "aiohttp==3.14.5" in text
    assert "--hash=sha256:aa" in text
    assert "colorama==0.4.6 ; sys_platform == 'win32'" in text
    assert any("left out: no wheel of uvloop for 3.13t" in line for line in said)
    assert left_out(ensure(one, say=say_nothing, uv=uv())) == lacks  # it is remembered


def test_the_analysis_is_of_no_use_without_a_package(tmp_path: Path) -> None:
    with pytest.raises(NoWheelError, match=r"uvloop has no wheel for CPython 3\.13t"):
        made(uv_for_3_13t([]), "3.13t", group="study")
    assert kept(tmp_path) == []


def test_an_index_that_cannot_be_reached_is_no_missing_wheel(tmp_path: Path) -> None:
    with pytest.raises(ScalingError) as caught:
        made(uv(("pip install", UNREACHABLE)))
    assert not isinstance(caught.value, NoWheelError)
    assert "Failed to fetch: (address)" in str(caught.value)
    assert "example" not in str(caught.value)
    assert kept(tmp_path) == []


def test_one_whose_interpreter_was_removed_is_made_again() -> None:
    python = made(uv())
    python.unlink()
    python.symlink_to("/nowhere/python3.14t")
    assert made(uv()).is_file()


def test_a_file_of_requirements_is_installed_and_a_changed_one_makes_another(
    tmp_path: Path,
) -> None:
    file = tmp_path / "requirements.txt"
    own = OwnRequirements(files=[str(file)])
    with pytest.raises(UsageError, match=r"requirements.txt: cannot be read \(No such file"):
        ensure(interpreter("3.14"), own=own, say=say_nothing, uv=uv())
    made_of = set()
    for text in ("flask\n", "flask\nredis\n"):
        file.write_text(text)
        pretended = uv()
        made_of.add(ensure(interpreter("3.14"), own=own, say=say_nothing, uv=pretended))
        assert any(f"-r {file} --" in command for command in pretended.commands)
    assert len(made_of) == 2
