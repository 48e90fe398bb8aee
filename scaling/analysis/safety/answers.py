"""What an application answered, and whether one answer differs from those that it may give.

An answer is taken apart into fields: the status, each header, and each value of its body (JSON by
value, text by line). A field that differs between answers at N = 1 is volatile: it says nothing.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

# They say when and how an answer was sent, not what it is.
OF_THE_TRANSPORT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
)
SHOWN = 60  # letters of a value in a message


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it came. Without one, `status` is 0 and `failure` says what happened.

    Headers have names in lower case, in the order in which they came.
    """

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str = ""


@dataclass(frozen=True)
class Difference:
    """A field of an answer that is not as at N = 1; `value` is None where it is missing."""

    field: str
    value: str | None
    words: str


class Reference:
    """All that a request was answered at N = 1: what its answers may be."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._values: dict[str, set[str]] = {}
        counted: dict[str, int] = {}
        count = 0
        for answer in answers:
            count += 1
            for name, value in fields(answer):
                self._values.setdefault(name, set()).add(value)
                counted[name] = counted.get(name, 0) + 1
        self._always = {name for name, found in counted.items() if found == count}

    def difference(self, answer: Answer) -> Difference | None:
        """The first field that is none of those at N = 1; None if all are."""
        if answer.failure:
            return Difference("answer", None, answer.failure)
        found = dict(fields(answer))
        for name, value in found.items():
            known = self._values.get(name)
            if known is None:
                if not self._varies_above(name):
                    return Difference(name, value, f"{_shown(name, value)}, and not there")
            elif value not in known and not self.is_volatile(name):
                before = _short(next(iter(known)))
                return Difference(name, value, f"{_shown(name, value)}, and {before}")
        for name in self._values:
            if name in self._always and name not in found and not self._varies_above(name):
                before = _short(next(iter(self._values[name])))
                return Difference(name, None, f"{name} is missing, and {before}")
        return None

    def is_volatile(self, name: str) -> bool:
        """Whether a field differs between answers at N = 1."""
        return len(self._values.get(name, ())) > 1 or name not in self._always

    def allows(self, difference: Difference) -> bool:
        """Whether a value is one of this request's: that of another one, if it differs there."""
        return difference.value in self._values.get(difference.field, ())

    def _varies_above(self, name: str) -> bool:
        """Whether a list or an object that a field is in changes its length or its keys."""
        while name:
            name = name.rpartition("/")[0]
            if f"{name}/#" in self._values and self.is_volatile(f"{name}/#"):
                return True
        return False


def fields(answer: Answer) -> Iterator[tuple[str, str]]:
    """Names and values of an answer's fields, all as text."""
    yield "status", str(answer.status)
    headers: dict[str, list[str]] = {}
    for name, value in answer.headers:
        if name not in OF_THE_TRANSPORT:
            headers.setdefault(name, []).append(value)
    for name, values in headers.items():
        yield f"header {name}", ", ".join(values)
    yield from _fields_of_body("body", _decoded(answer.body))


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        lines = body.decode().splitlines()
    except UnicodeDecodeError:
        return hashlib.sha256(body).hexdigest()
    return lines if len(lines) > 1 else body.decode()


def _fields_of_body(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield f"{name}/#", f"keys {', '.join(sorted(value))}"
        for key, each in value.items():
            yield from _fields_of_body(f"{name}/{key}", each)
    elif isinstance(value, list):
        yield f"{name}/#", f"length {len(value)}"
        for place, each in enumerate(value):
            yield from _fields_of_body(f"{name}/{place}", each)
    else:
        yield name, json.dumps(value, ensure_ascii=False)


def _shown(name: str, value: str) -> str:
    return f"{name.removesuffix('/#')} {'has' if name.endswith('/#') else 'is'} {_short(value)}"


def _short(value: str) -> str:
    return value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
