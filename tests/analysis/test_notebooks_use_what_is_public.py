"""The notebooks are small, whole, and use the public front only.

That their studies are there, and that they still say what is committed, is what `nox -s notebooks`
is for, which executes them.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import scaling
from tests.support.children import ROOT

FILES = sorted((ROOT / "notebooks").glob("*.ipynb"))
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

NOTEBOOKS: dict[str, Any] = {file.stem: json.loads(file.read_text("utf-8")) for file in FILES}
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS.values(), ids=NOTEBOOKS)


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def texts(notebook: dict[str, Any]) -> Iterator[str]:
    """All that is read in a notebook, pictures left out."""
    for cell in notebook["cells"]:
        yield source(cell)
        for output in cell.get("outputs", []):
            yield "".join(output.get("text", []))
            data = output.get("data", {})
            yield from ("".join(shown) for kind, shown in data.items() if "image" not in kind)


@each_notebook
def test_it_was_executed_by_nobody_in_particular_and_its_figures_are_computed(
    notebook: dict[str, Any],
) -> None:
    assert sum(file.stat().st_size for file in FILES) < MOST_BYTES
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}
    assert notebook["metadata"] == METADATA
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    assert [text for text in texts(notebook) if A_PATH.search(text)] == []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            assert not A_FIGURE.findall(CODE.sub("", source(cell))), source(cell)
        else:
            assert cell["outputs"]
            require_public(ast.parse(source(cell)))


def require_public(code: ast.Module) -> None:
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= IMPORTED
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] in IMPORTED - {"scaling"}
        elif isinstance(node, (ast.Attribute, ast.Name)):
            used = node.attr if isinstance(node, ast.Attribute) else node.id
            assert not used.startswith("_")
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "scaling":
                assert used in scaling.__all__
