"""What the values of a study may be: one rule a key, the same for a file, a workload and a flag."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.base.vocabulary import MODELS, SIZINGS
from scaling.study.file import StudyFile, WorkloadEntry
from scaling.study.presets import PRESETS

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def checked[T: (StudyFile, WorkloadEntry)](asked: T, label: Callable[[str], str]) -> T:
    """The same with lists free of duplicates and worker counts in order.

    `label` gives the words for a key in messages: the file and key, or the flag.

    Raises:
        UsageError: a value that no study can have; says where and what was expected.
    """
    values = {}
    for field in msgspec.structs.fields(asked):
        value = getattr(asked, field.name)
        rule = RULES.get(field.name)
        if value is not None and rule is not None:
            values[field.name] = rule(value, label(field.name))
    return msgspec.structs.replace(asked, **values)


def _several(values: Sequence[Any], where: str) -> tuple[Any, ...]:
    if not values:
        raise UsageError(f"{where}: the list is empty; leave the key out for the default")
    return tuple(dict.fromkeys(values))


def _from(known: Collection[str], what: str) -> Callable[[Sequence[str], str], tuple[str, ...]]:
    def rule(values: Sequence[str], where: str) -> tuple[str, ...]:
        for value in values:
            if value not in known:
                raise unknown(what, value, known, where=where)
        return _several(values, where)

    return rule


def _workers(values: Sequence[int], where: str) -> tuple[int, ...]:
    for value in values:
        if value < 1:
            raise UsageError(f"{where}: workers must be 1 or more, got {value}")
    return tuple(sorted(_several(values, where)))


def _preset(value: str, where: str) -> str:
    if value not in PRESETS:
        raise unknown("preset", value, PRESETS, where=where)
    return value


def _blocks(value: int, where: str) -> int:
    if value < 1:
        raise UsageError(f"{where}: blocks must be 1 or more, got {value}")
    return value


def _seconds(value: float, where: str) -> float:
    if not 0 < value < math.inf:
        raise UsageError(f"{where}: expected seconds above 0, got {value!r}")
    return value


def _warmup(value: float, where: str) -> float:
    if not 0 <= value < math.inf:
        raise UsageError(f"{where}: expected seconds, 0 or more, got {value!r}")
    return value


def _share(value: float | str) -> float:
    """`0.02` and `"2%"` as 0.02; whatever is no number as NaN, which no rule takes."""
    text = str(value).strip()
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan


def _precision(value: float | str, where: str) -> float:
    share = _share(value)
    if not 0 < share < 1:
        raise UsageError(f"{where}: expected a share between 0 and 1, such as 2%, got {value!r}")
    return share


def _scale(value: float | str, where: str) -> float:
    share = _share(value)
    if not 0 < share < math.inf:
        raise UsageError(f"{where}: expected a factor above 0, such as 0.01 or 1%, got {value!r}")
    return share


def check_name(value: str, where: str) -> str:
    """A study's name, which is also the name of its results folder.

    Raises:
        UsageError: it has something in it that a folder's name should not.
    """
    if NAME.fullmatch(value) is None:
        raise UsageError(
            f"{where}: expected letters, digits and . _ + - (it names a folder), got {value!r}"
        )
    return value


RULES: dict[str, Callable[[Any, str], Any]] = {
    "arms": _several,
    "blocks": _blocks,
    "limit_s": _seconds,
    "loops": _several,
    "max_blocks": _blocks,
    "models": _from(MODELS, "model"),
    "precision": _precision,
    "preset": _preset,
    "scale": _scale,
    "sizing": _from(SIZINGS, "sizing"),
    "warmup_s": _warmup,
    "window_s": _seconds,
    "workers": _workers,
}
