"""What the client of a check saves of an answer for later requests, and writes into these.

The rules are the load generator's (`workers.services.load.sequence`), which this process does not
import; a test holds both to the same cases.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from scaling.analysis.check.answers import Answer

HEADER, COOKIE = "header:", "cookie:"
SETS = "set-cookie"
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
FORM = "application/x-www-form-urlencoded"


class NothingThereError(Exception):
    """An answer has not what is to be saved; the message says which part, and no value."""


def saved(request: Mapping[str, Any], answer: Answer) -> dict[str, str]:
    """What a request saves of its answer, by name.

    Raises:
        NothingThereError: the answer has not all of it.
    """
    return {name: _found(source, answer) for name, source in request.get("save", {}).items()}


def _found(source: str, answer: Answer) -> str:
    if source.startswith(HEADER):
        wanted = source.removeprefix(HEADER).lower()
        value = next((value for name, value in answer.headers if name == wanted), None)
    elif source.startswith(COOKIE):
        value = cookies(answer).get(source.removeprefix(COOKIE))
    else:
        value = _at(source, answer.last)
    if value is None:
        raise NothingThereError(f"the answer has nothing at {source or 'its top'} to save")
    return value


def cookies(answer: Answer) -> dict[str, str]:
    """The cookies that an answer sets, by name."""
    pairs = (
        value.partition(";")[0].partition("=") for name, value in answer.headers if name == SETS
    )
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _at(pointer: str, body: bytes) -> str | None:
    """The text, number or truth value at a pointer; None if there is none."""
    try:
        found = json.loads(body)
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if found is None or isinstance(found, (dict, list)):
        return None
    return found if isinstance(found, str) else json.dumps(found)


def filled(request: Mapping[str, Any], values: Mapping[str, str]) -> Mapping[str, Any]:
    """The request with saved values, each written as its place takes it.

    A name without a value stays as it is: what was to save it went wrong.
    """
    if not values:
        return request
    headers = request.get("headers", {})
    kind = next((each for name, each in headers.items() if name.lower() == "content-type"), "")
    of_body = _in_json if "json" in kind else quote_plus if kind.startswith(FORM) else str

    def put(text: str, written: Any) -> str:
        return PLACEHOLDER.sub(
            lambda found: written(values[found[1]]) if found[1] in values else found[0], text
        )

    found = dict(request)
    for name in ("path", "websocket"):
        if request.get(name):
            found[name] = put(request[name], lambda value: quote(value, safe=""))
    if headers:
        found["headers"] = {name: put(each, _in_header) for name, each in headers.items()}
    if "body" in request:
        found["body"] = put(request["body"], of_body)
    if "send" in request:
        found["send"] = [
            put(text, _in_json if text[:1] in ("{", "[") else str) for text in request["send"]
        ]
    return found


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _in_header(value: str) -> str:
    plain = value.isprintable() and all(ord(letter) < 256 for letter in value)
    return value if plain else quote(value)
