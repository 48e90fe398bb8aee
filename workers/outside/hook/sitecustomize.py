"""Runs when a Python process of a measured command starts: Python imports a module of this name.

An environment's own `sitecustomize` is imported afterwards.
"""  # noqa: INP001

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [each for each in sys.path if os.path.abspath(each) != _HERE]

if "SCALING_HOOK" in os.environ:
    from workers.outside.notes import begin

    begin(os.environ["SCALING_HOOK"])

_this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
except ModuleNotFoundError:
    sys.modules["sitecustomize"] = _this
