"""The CPython builds under study: found on this machine, downloaded by uv, or built from source.

`ensure(["3.14", "3.14t"], say=print)` returns them; `survey()` lists those on this machine.
"""

from __future__ import annotations

from scaling.builds.cpython import BUILDS, VERSIONS, Build, parse_build
from scaling.builds.interpreters.choose import available, ensure, source_first
from scaling.builds.interpreters.find import survey
from scaling.builds.interpreters.interpreter import Interpreter, inspect

__all__ = [
    "BUILDS",
    "VERSIONS",
    "Build",
    "Interpreter",
    "available",
    "ensure",
    "inspect",
    "parse_build",
    "source_first",
    "survey",
]
