"""An extension module that makes a free-threaded build turn its GIL on, as most old ones do."""

import os
import subprocess
import sysconfig
from pathlib import Path

# It says nothing about the GIL.
SILENT = """
#include <Python.h>
static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "flips", NULL, 0, NULL, slots, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_flips(void) { return PyModuleDef_Init(&definition); }
"""


def compile_flips(folder: Path) -> Path:
    """Put the extension `flips` for the running build into a folder; return the folder.

    It is for tests that are marked with `needs("cc")`.
    """
    (folder / "flips.c").write_text(SILENT)
    compiler = os.environ.get("CC", "cc").split()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    headers = sysconfig.get_path("include")
    subprocess.run(
        [*compiler, "-shared", "-fPIC", f"-I{headers}", "flips.c", "-o", f"flips{suffix}"],
        check=True,
        cwd=folder,
    )
    return folder
