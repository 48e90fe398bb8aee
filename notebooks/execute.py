"""Execute the notebooks and compare their output with what is committed.

`nox -s notebooks` runs this in an environment of its own; with `--write` the output is stored. Text
is compared. Pictures are not, since another version of a library may draw them a little
differently; the words on them are.
"""

import argparse
import difflib
import os
import tempfile
from copy import deepcopy
from pathlib import Path

import matplotlib.font_manager  # noqa: F401 -- else a cell prints that the list of fonts is made
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from traitlets.config import Config

HERE = Path(__file__).parent
CELL_TIMEOUT_S = 300
# The metadata that is kept: nothing about who executed a notebook, and on what.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main() -> int:
    """Execute the notebooks that are named, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s notebooks --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 01-the-curve")
    parser.add_argument("--write", action="store_true", help="store the new output")
    asked = parser.parse_args()
    every = {file.stem: file for file in sorted(HERE.glob("*.ipynb"))}
    names = [name.removesuffix(".ipynb") for name in asked.names] or list(every)
    if unknown := [name for name in names if name not in every]:
        parser.error(f"no notebook {unknown[0]}; there are {', '.join(every)}")
    files = [every[name] for name in names]
    with tempfile.TemporaryDirectory() as folder:
        # Else IPython keeps a history, and Jupyter the kernel's keys, in the user's home.
        os.environ |= {"IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder}
        faults = {file: fault_of(file, folder, write=asked.write) for file in files}
    for file, fault in faults.items():
        print(f"{file.name}: {fault or ('stored' if asked.write else 'unchanged')}")
    return int(any(faults.values()))


def fault_of(file: Path, folder: str, *, write: bool) -> str:
    """Execute a notebook, store its output if asked, and return what is wrong, if anything.

    `folder` is for the files of the running kernel.
    """
    committed = nbformat.read(file, as_version=4)
    notebook = deepcopy(committed)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        record_timing=False,
        # Sockets in a folder, and no open ports.
        config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
        resources={"metadata": {"path": str(HERE)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    if write:
        nbformat.write(cleaned(notebook), file)
        return ""
    before, now = text_of(committed), text_of(notebook)
    changes = difflib.unified_diff(before, now, "committed", "executed", lineterm="")
    difference = "\n".join(changes)
    return f"the output changed (-- --write stores it):\n{difference}" if difference else ""


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """The notebook without anything that depends on when and where it was executed."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    nbformat.validate(notebook)
    return notebook


def text_of(notebook: NotebookNode) -> list[str]:
    """The text that its cells print, line by line, with the id of the cell."""
    lines = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", "")})
            text = data.get("text/markdown") or data.get("text/plain", "")
            lines += [f"{cell.id}: {line}" for line in text.splitlines()]
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
