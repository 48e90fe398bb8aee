"""The declaration of a setting."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scaling.builds.cpython import Build
from scaling.journal.record import Cell

type Value = bool | int | float | str

# The server of WSGI, whose workers have no loop: N threads in one process, or N processes.
GTHREAD = "gunicorn-gthread"


def has_loops(cell: Cell) -> bool:
    """Return True if the workers of a cell are loops of ours: a server of WSGI has none."""
    return cell.parameters.get("server") != GTHREAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A run-time setting: what it changes, how it is verified, where it can be used.

    `environment` are variables of the child, `preload` is the file name of a library that is loaded
    before the C library, `cell` are fields of the child's cell, `parameters` those of the workload.

    `reads_back` are the fields of `ReadBack` that it changes. `switches` have no effect that could
    be read back, so they are read back themselves, by name (`workers.readback.switches`).

    `misfit` returns the reason a build cannot have the setting, `unfit` the reason a cell cannot,
    or that it changes nothing there; None if it can. `workloads` are the only ones that can have
    it; empty: any.

    `source` is the page that recommends it, `lines` are lines of Python that enable it; shell
    variables follow from the fields above. A `control` must not help. A setting without `source` is
    no remedy.
    """

    name: str
    summary: str
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: str = ""
    cell: Mapping[str, Value] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    reads_back: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, Value] = field(default_factory=dict)
    misfit: Callable[[Build], str | None] = lambda _build: None
    unfit: Callable[[Cell], str | None] = lambda _cell: None
    workloads: tuple[str, ...] = ()
    source: str = ""
    lines: tuple[str, ...] = ()
    control: bool = False

    @property
    def is_remedy(self) -> bool:
        """True if somebody recommends the setting, or it is a control of such a one."""
        return bool(self.source)

    @property
    def variables(self) -> list[str]:
        """The shell variables that enable it, each as `NAME=value`."""
        found = [f"{name}={value}" for name, value in self.environment.items()]
        return found + [f"LD_PRELOAD={self.preload}"] * bool(self.preload)
