"""Switches of an arm: settings that someone recommends, set and read back.

A name with dots is an attribute of a module and is set here. Any other name is an environment
variable, with which the process was started. A switch may have no visible effect, so the switch
itself is read back, and whether the module had that attribute before.
"""

import importlib
import os
import sys
from collections.abc import Mapping

type Value = bool | str


class Switches:
    """The switches of one interpreter."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        """Set the attributes among them; call it before any loop is made.

        Raises:
            ImportError: there is no such module.
        """
        self._existed: dict[str, bool | None] = {}
        for name, value in values.items():
            module_name, _, attribute = name.rpartition(".")
            if not module_name:  # an environment variable: whether anything reads it is unknown
                self._existed[name] = None
                continue
            module = importlib.import_module(module_name)
            self._existed[name] = hasattr(module, attribute)
            setattr(module, attribute, value)

    def read_back(self) -> list[dict[str, object]]:
        """List the switches for the record: current value, and whether it existed before."""
        return [
            {"name": name, "value": _current(name), "was_there": existed}
            for name, existed in self._existed.items()
        ]


def _current(name: str) -> Value | None:
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        return os.environ.get(name)
    value = getattr(sys.modules[module_name], attribute, None)
    return value if isinstance(value, bool | str) else None
