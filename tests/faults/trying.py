"""Every fault there is, and how one is tried: in a process of its own."""

import shutil
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults import child, disks, journal, kills, services
from tests.faults.checks import (
    CHECKS,
    After,
    Fault,
    NotHereError,
    Try,
    adopt_orphans,
    processes,
    wrong,
)

FAULTS: dict[str, Fault] = {
    **journal.FAULTS,
    **kills.FAULTS,
    **child.FAULTS,
    **disks.FAULTS,
    **services.FAULTS,
}


@dataclass(frozen=True)
class Row:
    """All tries of one fault. `missing` is why there were none, if this machine forbids it."""

    fault: str
    tries: Sequence[Try]
    took_s: float
    missing: str = ""

    @property
    def failed(self) -> bool:
        """Whether the fault did harm, or was not tried although it could have been."""
        return not self.missing and (not self.tries or any(self.tries))

    @property
    def notes(self) -> list[str]:
        """What went wrong, each kind once."""
        if self.missing:
            return [self.missing]
        found = [(name, several) for one in self.tries for name, several in one.items()]
        return list(dict.fromkeys(f"{name}: {each}" for name, several in found for each in several))

    @property
    def cells(self) -> list[str]:
        """Its line in the table: how often each check found something."""
        counts = [sum(len(one.get(name, ())) for one in self.tries) for name in CHECKS]
        tries = "not tried" if self.missing else str(len(self.tries))
        return [self.fault, tries, *map(str, counts), f"{self.took_s:.0f} s"]


def tried(name: str) -> Row:
    """Try one fault. What it does to this process, such as mounts, stays."""
    began, missing = time.monotonic(), ""
    tries: list[Try] = []
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        tries += FAULTS[name](folder)
    except NotHereError as error:
        missing = str(error)
    except Exception:
        tries.append(wrong(traceback.format_exc()))
    processes(After(folder))  # of a fault that failed
    shutil.rmtree(folder, ignore_errors=True)
    return Row(name, tries, time.monotonic() - began, missing)
