"""The source distribution is complete, and a wheel made from it runs a study far from here."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import scaling
from scaling.builds import uv_tool
from tests.support.children import PATIENCE_S, ROOT
from tests.support.cli import BUILD

PUBLIC_FRONT = "## In Python"


@pytest.mark.thorough
def test_the_wheel_of_the_source_distribution_measures_a_study(tmp_path: Path) -> None:
    """All in one test: to build both takes several seconds."""
    built = uv_tool.run(
        ["build", "--quiet", "--python", sys.executable, "--out-dir", str(tmp_path), str(ROOT)]
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        archive.extractall(tmp_path / "site")
    tracked = {
        str(path.relative_to(ROOT))
        for package in ("scaling", "workers")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    of_sessions = {f"scaling/builds/pins/{name}.txt" for name in ("lint", "notebooks", "tests")}
    assert tracked - names == of_sessions
    assert names <= tracked

    def there(*command: str) -> str:
        """What a module of the wheel prints, in a folder that is not the repository."""
        variables = {"PYTHONPATH": str(tmp_path / "site"), "SCALING_STATE": str(tmp_path / "state")}
        done = subprocess.run(
            [sys.executable, "-m", *command],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**os.environ, **variables},
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    asked = ("--arm", BUILD, "--workload", "compute", "--workers", "1", "--no-controls")
    there("scaling", "run", *asked, "--blocks", "1", "--seconds", "0.05", "--output", "out")
    assert scaling.load(tmp_path / "out")["valid"].all()
    assert "--rate" in there("workers.services.load", "--help")


def test_the_public_front_is_documented_in_one_place() -> None:
    text = (ROOT / "scaling/README.md").read_text(encoding="utf-8")
    section = text.partition(f"{PUBLIC_FRONT}\n")[2].partition("\n## ")[0]
    named = {
        re.match(r"\w+", code)[0]  # type: ignore[index]
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for code in re.findall(r"`([^`]+)`", row)
    }
    assert named == set(scaling.__all__)
