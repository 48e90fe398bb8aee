"""Wheels and extension modules made here, for tests of what is installed: no index is asked."""

import importlib.util
import os
import shutil
import subprocess
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
# As most old ones it says nothing about the GIL: a free-threaded build turns its own on for it.
SILENT = """
#include <Python.h>
static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "flips", NULL, 0, NULL, slots, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_flips(void) { return PyModuleDef_Init(&definition); }
"""


def wheel(
    folder: Path,
    name: str,
    files: Mapping[str, Any],
    tag: str = "",
    *,
    version: str = "1.0",
    requires: Sequence[str] = (),
) -> Path:
    """A wheel of these files (a text, or a file to copy), for the running build unless `tag` is
    given.
    """
    tag = tag or _tag()
    path = folder / f"{name}-{version}-{tag}.whl"
    about = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {each}\n" for each in requires)
    texts = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for inside, content in {**files, **texts}.items():
            data = content.read_bytes() if isinstance(content, Path) else content
            archive.writestr(inside, data)
        record = [f"{inside},," for inside in [*archive.namelist(), f"{about}/RECORD"]]
        archive.writestr(f"{about}/RECORD", "\n".join(record))
    return path


def extension(folder: Path) -> Path:
    """A copy of an extension module of the standard library, `_bisect`."""
    found = importlib.util.find_spec("_bisect")
    assert found
    assert found.origin
    return Path(shutil.copy(found.origin, folder))


def compile_flips(folder: Path) -> Path:
    """Put the extension `flips` for the running build into a folder; return the folder.

    It is for tests that are marked with `needs("cc")`.
    """
    (folder / "flips.c").write_text(SILENT)
    compiler = os.environ.get("CC", "cc").split()
    headers = sysconfig.get_path("include")
    subprocess.run(
        [*compiler, "-shared", "-fPIC", f"-I{headers}", "flips.c", "-o", f"flips{SUFFIX}"],
        check=True,
        cwd=folder,
    )
    return folder


def _tag() -> str:
    python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
    free = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}{free}-{platform}"
