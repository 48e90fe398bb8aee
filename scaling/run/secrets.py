"""Cookies and tokens in a user's requests: sent as they are, and hidden in all that is written."""

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

HIDDEN = "(hidden)"
LONG = 8  # letters; a shorter value may be a part of any word
ELLIPSIS = "…"  # after a text that was cut, wherever it stands
CUT = " .'\"\n"  # what may stand after the last one
SHORTEST = 4  # letters; a shorter value is any word, and is hidden beside its name alone
# In the name of a header, of a parameter, or of a field in a body.
NAMES = re.compile(
    r"auth|token|secret|session|passw|passphrase|csrf|xsrf|credential|signature|jwt|api[-_]?key"
    r"|cookie|(^|[-_])(key|sid|pin|otp|code)$",
    re.IGNORECASE,
)
# The parts of a child's record in which an application's own words are.
WORDS = ("failure", "error_samples", "facts")


def secrets_in(requests: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The secret values in these requests, and pairs of `name=value` of short ones."""
    found: set[str] = set()
    for request in requests:
        for name, value in _named(request):
            written = {value, quote(value, safe=""), quote_plus(value), unquote(value)}
            written |= {json.dumps(each)[1:-1] for each in (value, unquote(value))}
            if len(value) >= SHORTEST:
                found |= written
            else:
                found |= {f"{name}={each}" for each in written}
    return frozenset(each for each in found if len(each) >= SHORTEST)


def hide(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets: short ones as whole words, long ones wherever they stand, and
    the parts that are left where the text was cut at one.
    """
    for each in sorted(secrets, key=len, reverse=True):
        if each in text:
            word = re.escape(each)
            text = re.sub(word if len(each) >= LONG else rf"(?<!\w){word}(?!\w)", HIDDEN, text)
    for each in filter(lambda secret: len(secret) >= LONG, secrets):
        sizes = range(len(each) - 1, SHORTEST - 1, -1)
        if size := next((size for size in sizes if text.startswith(each[-size:])), 0):
            text = f"{HIDDEN}{text[size:]}"
        text = ELLIPSIS.join(_without_begun(part, each) for part in text.split(ELLIPSIS))
    return text


def _without_begun(text: str, secret: str) -> str:
    """The text without the beginning of a secret at its end."""
    whole = text.rstrip(CUT)
    for size in range(len(secret) - 1, SHORTEST - 1, -1):
        if whole.endswith(secret[:size]):
            return f"{whole[:-size]}{HIDDEN}{text[len(whole) :]}"
    return text


def hide_in_record(printed: bytes, secrets: Collection[str]) -> bytes:
    """What a child printed, without the secrets: a record's figures and names stay as they are."""
    try:
        record = json.loads(printed)
    except ValueError:  # it printed something else
        return hide(printed.decode(errors="replace"), secrets).encode()
    hidden = _hidden(record, secrets, within=False)
    return printed if hidden == record else json.dumps(hidden).encode()


def _hidden(value: Any, secrets: Collection[str], *, within: bool) -> Any:
    """A part of a record; `within` it are an application's own words."""
    if isinstance(value, dict):
        return {
            name: _hidden(each, secrets, within=within or name in WORDS)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_hidden(each, secrets, within=within) for each in value]
    return hide(value, secrets) if within and isinstance(value, str) else value


def _named(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values of all that is secret in a request."""
    headers = request.get("headers", {})
    for name, value in headers.items():
        if name.lower() == "cookie":
            for pair in value.split(";"):
                cookie, _, content = pair.strip().partition("=")
                yield cookie, content.strip('"')
        elif NAMES.search(name):
            yield name, value
            scheme, _, credentials = value.partition(" ")
            if credentials:
                yield scheme, credentials
                yield from _basic(scheme, credentials)
    pairs = parse_qsl(urlsplit(request.get("path") or "/").query, keep_blank_values=True)
    pairs += _fields(request.get("body", ""))
    yield from ((name, value) for name, value in pairs if value and NAMES.search(name))


def _basic(scheme: str, credentials: str) -> Iterator[tuple[str, str]]:
    """The password that HTTP's own authentication sends."""
    if scheme.lower() == "basic":
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            pair = base64.b64decode(credentials, validate=True).decode()
            yield "password", pair
            yield "password", pair.partition(":")[2]


def _fields(body: str) -> list[tuple[str, str]]:
    """Names and texts in a body: of JSON, or of a form."""
    try:
        return list(_texts("", json.loads(body)))
    except (ValueError, RecursionError):
        return parse_qsl(body)


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(key if not NAMES.search(name) else name, each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(name, each)
    elif isinstance(value, str):
        yield name, value
