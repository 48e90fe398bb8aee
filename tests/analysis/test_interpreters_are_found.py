"""Every interpreter on the machine is found once, with where it is from, the best one first."""

from pathlib import Path

import pytest

from scaling.builds import uv_tool
from scaling.builds.interpreters import parse_build, survey
from tests.support.fake_builds import Uv, answer, python_script, script


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


def test_builds_come_in_the_order_asked_for(machine: Path) -> None:
    python_script(machine / "bin/python3.14", "3.14.9", free_threaded=False)
    python_script(machine / "bin/python3.14t", "3.14.7", free_threaded=True)
    assert [build for build, _, _ in found(machine, "3.14t", "3.14")] == ["3.14t", "3.14"]


def test_one_binary_with_many_names_is_one_interpreter(machine: Path) -> None:
    binary = python_script(machine / "uv/cpython-3.14.7+f/bin/python3.14t", "3.14.7",
                           free_threaded=True)  # fmt: skip
    (binary.parent / "python3.14").hardlink_to(binary)
    (binary.parent / "python3").symlink_to("python3.14t")
    (machine / "bin").mkdir()
    (machine / "bin/python3.14t").symlink_to(binary)
    assert found(machine) == [("3.14t", "3.14.7", "uv")]


def test_a_release_is_better_than_its_candidate(machine: Path) -> None:
    python_script(machine / "bin/python3.15", "3.15.0rc2", free_threaded=False)
    python_script(machine / "pyenv/versions/3.15.0/bin/python3.15", "3.15.0", free_threaded=False)
    assert [version for _, version, _ in found(machine, "3.15")] == ["3.15.0", "3.15.0rc2"]


def test_what_leads_nowhere_is_passed_over(machine: Path) -> None:
    script(machine / "bin/python3.14", "exit 127")
    (machine / "bin/python3").symlink_to(machine / "gone")
    python_script(machine / "bin/python3.14t", "3.14.7", free_threaded=True)
    assert found(machine) == [("3.14t", "3.14.7", "PATH")]


def test_other_versions_are_not_even_asked(machine: Path) -> None:
    script(machine / "bin/python3.13", f"touch {machine / 'asked'}")
    script(machine / "pyenv/versions/3.13.0/bin/python3", f"touch {machine / 'asked'}")
    assert found(machine) == []
    assert not (machine / "asked").exists()


def test_a_half_made_one_of_ours_is_not_found(machine: Path) -> None:
    python_script(machine / "cache/interpreters/.3.14.7~x/bin/python3.14", "3.14.7",
                  free_threaded=False)  # fmt: skip
    assert found(machine) == []
