"""Modules imported anew are the importing worker's own; everybody else finds those of before."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.worker.registry import BUILT_IN, imported_anew, is_own, package_of


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a module that uses another one of it."""
    folder = tmp_path / "own_code_shop"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "prices.py").write_text("class Price: pass\n")
    (folder / "main.py").write_text("from own_code_shop.prices import Price\nclass App: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [each for each in sys.modules if each.startswith(folder.name)]:
        del sys.modules[name]


def test_each_worker_has_classes_that_no_other_has(shop: str) -> None:
    shared = importlib.import_module(f"{shop}.main")
    with imported_anew(shop):
        one = importlib.import_module(f"{shop}.main")
    with imported_anew(shop):
        two = importlib.import_module(f"{shop}.main")
    assert len({shared.App, one.App, two.App}) == 3
    assert len({shared.Price, one.Price, two.Price}) == 3
    assert (is_own(one.App), is_own(two.App), is_own(shared.App)) == (True, True, False)


def test_afterwards_everything_is_where_it_was(shop: str) -> None:
    shared = importlib.import_module(f"{shop}.main")
    before = dict(sys.modules)
    with imported_anew(shop):
        importlib.import_module(f"{shop}.main")
    with pytest.raises(ModuleNotFoundError), imported_anew(shop):
        importlib.import_module(f"{shop}.missing")
    assert sys.modules == before
    package = sys.modules[shop]
    assert package.main is shared
    assert importlib.import_module(f"{shop}.main") is shared


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("echo", BUILT_IN),
        ("workers.workloads.echo:Echo", BUILT_IN),
        ("shop.main:app", "shop"),
        ("nap:Nap", "nap"),
    ],
)
def test_a_built_in_workload_has_the_package_of_all(path: str, package: str) -> None:
    assert package_of(path) == package
