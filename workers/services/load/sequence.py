"""Requests that follow each other: values that are saved of an answer and sent in later ones.

`"save": {"token": "/data/token"}` keeps a part of the answer: by a JSON pointer (RFC 6901) into its
body, or its last message, by `header:NAME` or by `cookie:NAME`. `{token}` stands for it in the
path, headers, body and messages of later requests. In bodies and messages, braces around a name
that no request saves have no meaning: GraphQL has such ones.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from workers.services.load.request import Request

HEADER, COOKIE, SETS = "header:", "cookie:", "set-cookie"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLACEHOLDER = re.compile(rf"\{{({NAME.pattern})\}}")
FORM = "application/x-www-form-urlencoded"


class Answer(NamedTuple):
    """An answer that is kept: names of headers are in lower case.

    Of a WebSocket, `messages` are those that came, and `body` is the last one. `failure` says why
    there is no whole answer.
    """

    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    status: int = 0
    messages: Sequence[bytes] = ()
    failure: str = ""


class NothingThereError(Exception):
    """An answer lacks a part that is to be saved; the message names it, and no value."""


# ------------------------------------------------------------------------------------------ checked


def problem_of_saving(save: Mapping[str, Any]) -> str:
    """The mistake in a `save`; empty if there is none."""
    for name, source in save.items():
        if not NAME.fullmatch(name):
            return f"save: {name!r} is not a name of letters, digits and _"
        pointer = isinstance(source, str) and (source == "" or source.startswith("/"))
        named = isinstance(source, str) and any(
            source.startswith(each) and len(source) > len(each) for each in (HEADER, COOKIE)
        )
        if not (pointer or named):
            return (
                f"save: {name} must be a JSON pointer such as /token, {HEADER}NAME or "
                f"{COOKIE}NAME, not {source!r}"
            )
    return ""


def problem_of_sequence(requests: Sequence[Request]) -> tuple[Request, str] | None:
    """The first request that cannot be sent in order, and why; None if all can.

    Braces in headers have no meaning where no request saves anything.
    """
    in_order, names = is_sequence(requests), saved_names(requests)
    known: set[str] = set()
    for request in requests:
        for name in _needed(request, names) if in_order else _in(_path(request)):
            if name not in known:
                return request, f'{{{name}}}: no request before it has "save" with {name!r}'
        if in_order and (request.weight != 1 or request.background):
            key = "background" if request.background else "weight"
            return request, f'{key}: requests are sent in order where one has "save"; leave it out'
        known |= request.save.keys()
    return None


def is_sequence(requests: Sequence[Request]) -> bool:
    """Return True if requests are sent in order: one saves something for later ones."""
    return any(each.save for each in requests)


def saved_names(requests: Sequence[Request]) -> set[str]:
    """The names of all that is saved."""
    return {name for each in requests for name in each.save}


def needs_values(request: Request, names: Collection[str]) -> bool:
    """Return True if it has placeholders for values of earlier answers; `names` are all saved."""
    return any(True for _ in _needed(request, names))


def _needed(request: Request, names: Collection[str]) -> Iterator[str]:
    for text in (_path(request), *request.headers.values()):
        yield from _in(text)
    for text in (request.body, *request.send):
        yield from (name for name in _in(text) if name in names)


def _path(request: Request) -> str:
    return request.websocket or request.path or ""


def _in(text: str) -> Iterator[str]:
    return (found[1] for found in PLACEHOLDER.finditer(text))


# -------------------------------------------------------------------------------------------- saved


def saved(save: Mapping[str, str], answer: Answer) -> dict[str, str]:
    """The value that an answer has for each name.

    Raises:
        NothingThereError: it has not all.
    """
    return {name: _found(source, answer) for name, source in save.items()}


def _found(source: str, answer: Answer) -> str:
    if source.startswith(HEADER):
        wanted = source.removeprefix(HEADER).lower()
        value = next((value for name, value in answer.headers if name == wanted), None)
    elif source.startswith(COOKIE):
        value = cookies(answer.headers).get(source.removeprefix(COOKIE))
    else:
        value = _at(source, answer.body)
    if value is None:
        raise NothingThereError(f"the answer has nothing at {source or 'its top'} to save")
    return value


def cookies(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The cookies that an answer sets, by name."""
    pairs = (value.partition(";")[0].partition("=") for name, value in headers if name == SETS)
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


# ------------------------------------------------------------------------------------------- filled


def filled(request: Request, values: Mapping[str, str]) -> Request:
    """The request with saved values, each written as its place takes it.

    A name without a value stays as it is.
    """
    kind = next((v for name, v in request.headers.items() if name.lower() == "content-type"), "")
    of_body = _in_json if "json" in kind else quote_plus if kind.startswith(FORM) else str

    def put(text: str, written: Any) -> str:
        return PLACEHOLDER.sub(
            lambda found: written(values[found[1]]) if found[1] in values else found[0], text
        )

    return replace(
        request,
        path=request.path and put(request.path, _quoted),
        websocket=request.websocket and put(request.websocket, _quoted),
        headers={name: put(value, _in_header) for name, value in request.headers.items()},
        body=put(request.body, of_body),
        send=[put(text, _in_json if text[:1] in ("{", "[") else str) for text in request.send]
        or request.send,
    )


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _in_header(value: str) -> str:
    plain = value.isprintable() and all(ord(letter) < 256 for letter in value)
    return value if plain else quote(value)
