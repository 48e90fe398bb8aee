"""What a process makes once, before its workers: they find it, whoever comes first."""

from collections.abc import Callable, Hashable
from typing import Any

_made: dict[Hashable, Any] = {}


def of_process[T](key: Hashable, make: Callable[[], T]) -> T:
    """What this process has made under that key; it is made by the first call."""
    if key not in _made:
        _made[key] = make()
    made: T = _made[key]
    return made
