"""Switches of an arm: set because somebody says that they do something, and read back.

A name with dots is an attribute of a module, and is set here; any other is an environment variable,
which the process was started with. Where nothing shows the effect of a switch, the switch itself is
read back, and whether the module had it before.
"""

import importlib
import os
import sys
from collections.abc import Mapping

type Value = bool | str


class Switches:
    """The switches of one interpreter."""

    def __init__(self, asked: Mapping[str, Value]) -> None:
        """Set the attributes among them: no loop may have been made yet.

        Raises:
            ImportError: there is no such module.
        """
        self._were_there: dict[str, bool | None] = {}
        for name, value in asked.items():
            module_name, _, attribute = name.rpartition(".")
            if not module_name:
                self._were_there[name] = None  # a variable: only who reads it could tell
                continue
            module = importlib.import_module(module_name)
            self._were_there[name] = hasattr(module, attribute)
            setattr(module, attribute, value)

    def told(self) -> list[dict[str, object]]:
        """Each switch for the record: its value as found now (None: not there), and before us."""
        return [
            {"name": name, "value": _found(name), "was_there": were_there}
            for name, were_there in self._were_there.items()
        ]


def _found(name: str) -> Value | None:
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        return os.environ.get(name)
    value = getattr(sys.modules[module_name], attribute, None)
    return value if isinstance(value, bool | str) else None
