"""Reads what the processes of a command have noted of themselves (`workers.outside.noting`)."""

import contextlib
import json
import os
from typing import Any

type Note = dict[str, Any]


class Noted:
    """The notes of a command's processes, and the state of the GIL at the moments of a run."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._gil: dict[str, dict[int, bool]] = {}

    def read(self) -> list[Note]:
        """The notes of all processes so far, in order of their ids."""
        found = []
        for name in os.listdir(self._folder):
            if name.endswith(".json"):
                file = os.path.join(self._folder, name)
                with contextlib.suppress(OSError, ValueError), open(file, "rb") as opened:
                    found.append(json.load(opened))
        return sorted(found, key=lambda note: note["pid"])

    def moment(self, name: str) -> None:
        """Note the state of the GIL now, as one of the record's moments."""
        self._gil[name] = {note["pid"]: note["gil"] for note in self.read()}

    def loops(self) -> list[tuple[int, str]]:
        """All loops that were made: when, monotonic ns, and their classes; in order of time."""
        return sorted((at_ns, kind) for note in self.read() for at_ns, kind in note["loops"])

    def process(self) -> dict[str, Any]:
        """What a process says of itself, for the record: of the one whose GIL was turned on.

        Without such a one it is of any that runs a loop, else of any. What can be counted inside
        a process only is None.
        """
        notes = self.read()
        if not notes:
            return {}
        flipped = [note for note in notes if note["enabled_by"]]
        with_loop = [note for note in notes if note["loops"]]
        note = (flipped or with_loop or notes)[0]
        states = {name: found.get(note["pid"]) for name, found in self._gil.items()}
        started = {"started": note["process"]["gil"]["started"]}
        unknown = dict.fromkeys(("gc_collections", "gc_pause_ns", "cpu_ns", "os_threads"))
        gil = started | states | {"enabled_by": note["enabled_by"]}
        facts: dict[str, Any] = note["process"]
        return facts | unknown | {"gil": gil}
