"""Comparison of an answer with the baseline answers of its request.

An answer is taken apart into fields: the status, each header, and each value of its body (JSON by
value, text by line). A field that differs between the answers of the baseline is volatile: it says
nothing.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

# Headers about when and how an answer was sent, not about its content.
OF_THE_TRANSPORT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
    | {"sec-websocket-accept", "upgrade"}
)
SECRET = "header set-cookie"  # a field whose values are shown nowhere
LONGEST_VALUE = 60  # letters in a message
STATUS = "status"
# Begin the failure of a late and of an incomplete answer (workers/services/load/client.py).
LATE, BROKEN = "no answer within", "the answer broke off"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP answer. Without one, `status` is 0 and `failure` says what happened.

    Names of headers are in lower case, in the order of the answer. Of a WebSocket, `messages` are
    those received, and `body` is the last one.
    """

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str = ""
    messages: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Difference:
    """A field of an answer that is not as in the baseline.

    `value` is that of the answer, `expected` the first one of the baseline; None: no such field.
    """

    field: str
    value: str | None
    expected: str | None

    @property
    def words(self) -> str:
        """`body/name is "milk", and "tea" at N = 1`."""
        name = self.field.removesuffix("/#")
        verb = "has" if self.field.endswith("/#") else "is"
        if self.field == SECRET:
            return f"{name} differs from those at N = 1"
        if self.value is None:
            return f"{name} is missing, and {_short(self.expected)} at N = 1"
        at_one = "not there" if self.expected is None else _short(self.expected)
        return f"{name} {verb} {_short(self.value)}, and {at_one} at N = 1"

    @property
    def instead(self) -> str:
        """`answered 404, not 200`; `answered with body/name "milk", not "tea"`."""
        if self.field == STATUS:
            return f"answered {self.value}, not {self.expected}"
        name = self.field.removesuffix("/#")
        if self.field == SECRET:
            return f"answered with another {name}"
        if self.value is None:
            return f"answered without {name}"
        if self.expected is None:
            return f"answered with {name} {_short(self.value)}"
        return f"answered with {name} {_short(self.value)}, not {_short(self.expected)}"


class Reference:
    """The answers that a request had in the baseline, field by field.

    `volatile` are the fields that differ there; others may be added.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._values: dict[str, dict[str, None]] = {}
        counted: dict[str, int] = {}
        count = 0
        for answer in answers:
            count += 1
            for name, value in fields(answer):
                self._values.setdefault(name, {})[value] = None
                counted[name] = counted.get(name, 0) + 1
        self.volatile = {
            name for name, known in self._values.items() if len(known) > 1 or counted[name] < count
        }

    def difference(self, answer: Answer) -> Difference | None:
        """The first field with a value that the baseline does not have, or None."""
        if answer.failure:
            return Difference("answer", None, None)
        found = dict(fields(answer))
        for name, value in found.items():
            known = self._values.get(name, {})
            if value not in known and not self._is_volatile(name):
                return Difference(name, value, next(iter(known), None))
        for name, known in self._values.items():
            if name not in found and not self._is_volatile(name):
                return Difference(name, None, next(iter(known)))
        return None

    def allows(self, difference: Difference) -> bool:
        """Return whether the baseline has the value of a difference of another request."""
        return difference.value in self._values.get(difference.field, ())

    def _is_volatile(self, name: str) -> bool:
        """Return whether the baseline has several values of a field, or several lengths or sets of
        keys of a list or object around it.
        """
        if name in self.volatile:
            return True
        above = name.rpartition("/")[0]
        while above and f"{above}/#" not in self.volatile:
            above = above.rpartition("/")[0]
        return bool(above)


def fields(answer: Answer) -> Iterator[tuple[str, str]]:
    """Names and values of an answer's fields, all as text."""
    yield STATUS, str(answer.status)
    headers: dict[str, list[str]] = {}
    for name, value in answer.headers:
        if name not in OF_THE_TRANSPORT:
            headers.setdefault(name, []).append(value)
    for name, values in headers.items():
        yield f"header {name}", ", ".join(values)
    messages = [_decoded(each) for each in answer.messages]
    yield from _fields_of_body("body", messages or _decoded(answer.body))


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
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


def _short(value: str | None) -> str:
    text = value or ""
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
