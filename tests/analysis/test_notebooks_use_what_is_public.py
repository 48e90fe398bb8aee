"""The notebooks are small, whole, and use the public front only.

That their studies are there, and that they still say what is committed, is what `nox -s notebooks`
is for, which executes them.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import scaling
from tests.support.children import ROOT

FOLDER = ROOT / "notebooks"
NAMES = ["01-the-curve", "03-threads-or-processes"]
MOST_BYTES = 600_000
IMPORTED = {"IPython", "io", "json", "numpy", "pandas", "scaling", "scipy"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

A_PATH = re.compile(r"(?<![\w.~/-])/(?!/)[\w.-]+/|[A-Z]:\\|~/")
# A measured figure; 95 % is what every interval is of. What is in `…` is code.
A_FIGURE = re.compile(r"(?!95 %)\b\d[\d.,]*\s*(?:%|×|times|MiB|µs|ms|ns|per second)")
CODE = re.compile(r"`[^`]*`")

type Cell = dict[str, Any]

each_notebook = pytest.mark.parametrize("name", NAMES)


@cache
def notebook(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return read


def of_kind(name: str, kind: str) -> list[Cell]:
    return [cell for cell in notebook(name)["cells"] if cell["cell_type"] == kind]


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def texts(name: str) -> Iterator[str]:
    """All that is read in a notebook, pictures left out."""
    for cell in notebook(name)["cells"]:
        yield source(cell)
        for output in cell.get("outputs", []):
            yield "".join(output.get("text", []))
            data = output.get("data", {})
            yield from ("".join(shown) for kind, shown in data.items() if "image" not in kind)


def test_all_of_them_are_there_and_small_together() -> None:
    files = sorted(FOLDER.glob("*.ipynb"))
    assert [file.stem for file in files] == NAMES
    assert sum(file.stat().st_size for file in files) < MOST_BYTES


@each_notebook
def test_it_was_executed_from_top_to_bottom_by_nobody_in_particular(name: str) -> None:
    cells = of_kind(name, "code")
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}
    assert all(cell["outputs"] for cell in cells)
    assert notebook(name)["metadata"] == METADATA
    assert all(cell["metadata"] == {} for cell in notebook(name)["cells"])
    assert [text for text in texts(name) if A_PATH.search(text)] == []


@each_notebook
def test_figures_are_computed_and_not_typed(name: str) -> None:
    for cell in of_kind(name, "markdown"):
        assert not A_FIGURE.findall(CODE.sub("", source(cell))), source(cell)


@each_notebook
def test_it_imports_what_is_public(name: str) -> None:
    for cell in of_kind(name, "code"):
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= IMPORTED
            elif isinstance(node, ast.ImportFrom):
                assert node.module is not None
                assert node.module.partition(".")[0] in IMPORTED - {"scaling"}
            elif isinstance(node, (ast.Attribute, ast.Name)):
                used = node.attr if isinstance(node, ast.Attribute) else node.id
                assert not used.startswith("_")
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "scaling":
                    assert used in scaling.__all__
