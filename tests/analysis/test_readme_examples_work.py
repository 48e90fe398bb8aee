"""What the README shows is there, and what it says to type works."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.cli.program import app
from tests.support.children import ROOT, measured

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")


def test_no_gap_is_left() -> None:
    assert "@@" not in README
    assert "TODO" not in README


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https:)([^)]+)\)", README))))
def test_every_picture_and_link_of_ours_is_there(target: str) -> None:
    name, _, heading = target.partition("#")
    file = ROOT / (name or "README.md")
    assert file.is_file()
    if heading:
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert heading in map(anchor, headings)


def anchor(heading: str) -> str:
    """What a heading is linked by: GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:scaling|workers|tests)/[\w./]*)`", README)))
)
def test_every_path_that_it_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.slow
def test_the_workload_of_ones_own_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", RESULTS, re.DOTALL)
    (tmp_path / "nap.py").write_text(example, encoding="utf-8")
    record = measured({"workload": "nap:Nap", "workers": 2}, tmp_path)
    assert all(worker.ticks.operations[-1] > 0 for worker in record.workers)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`scaling (\w+)", README + RESULTS))))
def test_every_command_is_there(command: str) -> None:
    names = [each.name or _name(each.callback) for each in app.registered_commands]
    assert command in names


def _name(callback: Callable[..., object] | None) -> str:
    return getattr(callback, "__name__", "").replace("_", "-")


@pytest.mark.parametrize("session", sorted(set(re.findall(r"nox -s ([\w.-]+)", README))))
def test_every_session_is_there(session: str) -> None:
    stem = session.partition("-")[0]
    assert re.search(rf'def {stem}\b|name="{re.escape(session)}"|name=f"{stem}-', NOXFILE)
