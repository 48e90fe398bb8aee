"""What the command line says about a study: the flags that `Study` declares, as typed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scaling.base.typed import values_in
from scaling.study.definition import OPTIONS

# The key of each flag, by its Python name.
KEYS = {option.parameter: key for key, option in OPTIONS.items() if option.flag}


@dataclass(init=False)
class Options:
    """The flags as typed. Those of several values may be `1,2,4`, repeated, or both.

    `set` are the `--set workload.parameter=value[,value…]`. `flags` has what was given of all the
    other flags, by their key in a study file.
    """

    study: str | None
    workload: tuple[str, ...]
    set: tuple[str, ...]
    flags: dict[str, Any]

    def __init__(
        self,
        *,
        study: str | None = None,
        workload: Iterable[str] = (),
        set: Iterable[str] = (),  # noqa: A002  # the name of the flag
        **flags: Any,
    ) -> None:
        self.study = study
        self.workload, self.set = tuple(workload), tuple(set)
        self.flags = {
            KEYS[name]: tuple(value) if isinstance(value, list) else value
            for name, value in flags.items()
            if value is not None and value not in ([], ())
        }

    @property
    def is_empty(self) -> bool:
        """Whether no option of a study was given."""
        return self == Options()

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The workloads asked for, each once; those with a colon are a user's own.

        Raises:
            UsageError: the flag has nothing in it.
        """
        return values_in(self.workload, "--workload")

    def values(self) -> dict[str, Any]:
        """What the flags say, checked, as a study keeps it, by key.

        Raises:
            UsageError: a value that an option cannot have.
        """
        return {
            key: OPTIONS[key].kind.of_flag(given, OPTIONS[key].flag)
            for key, given in self.flags.items()
        }
