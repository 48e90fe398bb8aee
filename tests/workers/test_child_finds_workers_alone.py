"""A child can import `workers`, but nothing else from the same folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.builds.child_path import workers_folder, workers_path, workers_source_hash


def imports(folder: Path, name: str) -> bool:
    """Whether a process that has `folder` on its path can import `name`."""
    answer = subprocess.run(
        [sys.executable, "-c", f"import importlib.util as u; print(u.find_spec({name!r}))"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.strip() != "None"


@pytest.mark.slow
def test_workers_is_found_and_scaling_is_not() -> None:
    with workers_path() as folder:
        assert imports(folder, "workers")
        assert not imports(folder, "scaling")


def test_a_driver_leaves_nothing_behind_but_one_link_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is killed could not remove anything."""
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path))
    with workers_path() as once, workers_path() as folder:
        assert once == folder
        assert [path.name for path in folder.iterdir()] == ["workers"]
    assert [path for path in tmp_path.rglob("*") if path.is_symlink()] == [folder / "workers"]
    assert (workers_folder() / "__init__.py").is_file()


def test_it_is_copied_where_it_cannot_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("a privilege is not held")

    package = tmp_path / "workers"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "symlink_to", refuse)
    with workers_path(package) as folder:
        assert not (folder / "workers").is_symlink()
        assert [path.name for path in (folder / "workers").iterdir()] == ["__init__.py"]


@pytest.mark.slow
def test_it_is_found_without_being_imported() -> None:
    program = "import sys; from scaling.builds.child_path import workers_folder; workers_folder(); "
    program += "sys.exit('workers' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in (("a.py", "one"), ("b.py", "two"), ("site/page.html", "three")):
        path = tmp_path / "workers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "workers"


def test_its_hash_changes_with_any_file(package: Path) -> None:
    hashes = {workers_source_hash(package)}
    (package / "a.py").write_text("changed")
    hashes.add(workers_source_hash(package))
    (package / "site/page.html").write_text("changed")
    hashes.add(workers_source_hash(package))
    (package / "b.py").rename(package / "c.py")
    hashes.add(workers_source_hash(package))
    assert len(hashes) == 4


def test_its_hash_does_not_change_by_running(package: Path) -> None:
    before = workers_source_hash(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__/a.cpython-314.pyc").write_bytes(b"compiled")
    assert workers_source_hash(package) == before


def test_ones_own_code_is_part_of_it(package: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / ".venv/lib").mkdir(parents=True)
    (mine / "nap.py").write_text("one")
    without, before = workers_source_hash(package), workers_source_hash(package, [str(mine)])
    (mine / ".venv/lib/other.py").write_text("not mine")
    (mine / "notes.txt").write_text("no code")
    assert workers_source_hash(package, [str(mine)]) == before
    (mine / "nap.py").write_text("two")
    assert len({without, before, workers_source_hash(package, [str(mine)])}) == 3
