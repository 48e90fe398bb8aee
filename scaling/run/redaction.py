"""What a user's requests and output must not give away: secrets, paths and addresses, hidden in all
that is written. People publish their journals.
"""

import base64
import contextlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from scaling.builds import cache
from scaling.builds.installed import URLS

HIDDEN = "(hidden)"
LONG = 8  # letters; a shorter value may be a part of any word
ELLIPSIS = "…"  # after a text that was cut, wherever it stands
CUT = " .'\"\n"  # what may stand after the last one
KEPT = "surrogatepass"  # JSON may have half of a pair
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
            quoted = [each(value, safe="", errors=KEPT) for each in (quote, quote_plus)]
            written = {value, *quoted, unquote(value)}
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
        if not isinstance(value, str):  # of a request that the generator refuses
            continue
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
    query = request.get("path", "").partition("?")[2].partition("#")[0]
    pairs = parse_qsl(query, keep_blank_values=True)
    pairs += _fields(request.get("body", ""))
    yield from ((name, value) for name, value in pairs if value and NAMES.search(name))


def _basic(scheme: str, credentials: str) -> Iterator[tuple[str, str]]:
    """The password that HTTP's own authentication sends."""
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):  # it is no such pair
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


# ----------------------------------------------------------------------------------- path redaction
# Output of a child without the paths and addresses of a user: people publish their journals.

CHARACTER = rb'(?:[^"\\\n]|\\u[0-9a-fA-F]{4})'  # of a path, as it is or as JSON escapes it
NAMED_FILES = (
    # As tracebacks and `faulthandler` print a file; inside a record the quotation mark is escaped.
    re.compile(rb'(file \\?")(/' + CHARACTER + rb"+)", re.IGNORECASE),
    # As a warning does, at the start of a line; and an ImportError, in parentheses.
    re.compile(rb"(^|\\n)(/[^:\"\n]+)(?=:\d+: )", re.MULTILINE),
    re.compile(rb"(\()(/" + CHARACTER + rb"+?\.(?:py|pyc|so))(?=\))"),
)
LIBRARY = re.compile(rb".*/(?:site-packages|dist-packages|python3\.\d+t?)/")
OWN_CODE = "workers/cell.py"  # in the folder that `workers` is imported from
BEFORE = rb"(?:(?<![\w.~/-])|(?<=\\n))"  # a path begins here; JSON may write a line's end as \n
HIDDEN_BYTES = HIDDEN.encode()
LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = ("localhost", LOOPBACK, "::1")
AFTER = rb"(/+|(?![\w-]))"


def without_paths(output: bytes, folders: Iterable[str]) -> bytes:
    """Shorten paths below any of `folders`, and paths that Python itself prints.

    Of a file below a folder of packages the part below stays, of one of `workers` too, of any other
    file its name. The user's home becomes `~`.
    """
    folders = list(folders)
    ours = [os.fsencode(f"{each}/") for each in folders if Path(each, OWN_CODE).is_file()]
    for pattern in NAMED_FILES:
        output = pattern.sub(lambda found: found[1] + _shortened(found[2], ours), output)
    marks = {each.rstrip("/"): b"" for each in folders if Path(each).is_absolute()}
    with contextlib.suppress(RuntimeError):  # a user without a home
        marks[str(Path.home()).rstrip("/")] = b"~"
    for folder in sorted(filter(None, marks), key=len, reverse=True):
        output = _replaced(output, folder, marks[folder])
    return output


def without_own_paths(text: str) -> str:
    """What a service or sampler says, without the folders of temporary files and of the cache.

    Nor does it name a server of the user's.
    """
    folders = (tempfile.gettempdir(), str(cache.folder()))
    found = without_paths(text.encode(), folders)
    for name in URLS:
        found = without_address(found, os.environ.get(name))
    return found.decode(errors="replace")


def without_address(output: bytes, url: str | None) -> bytes:
    """Remove what names a server or machine of the user's: its URL, host, user and password.

    User and password are removed where a message names them as such: a user may be any word, and a
    password any number of a record.
    """
    if not url:
        return output
    try:
        parts = urlsplit(url)
    except ValueError:  # it is none, which its service says
        return output.replace(url.encode(), HIDDEN_BYTES)
    host = parts.hostname if parts.hostname not in LOOPBACK_NAMES else None
    names = {url, parts.netloc, host or ""} - {"", *LOOPBACK_NAMES}
    for name in sorted(names, key=len, reverse=True):
        whole_word = rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w.-])"
        output = re.sub(whole_word, HIDDEN_BYTES, output)
    if parts.password:
        password = re.escape(unquote(parts.password).encode())
        output = re.sub(rb"(:)" + password + rb"(?=@)", rb"\1" + HIDDEN_BYTES, output)
        output = re.sub(
            rb"(password\W{1,3})" + password + rb"(?!\w)", rb"\1" + HIDDEN_BYTES, output
        )
    if parts.username:
        user = re.escape(unquote(parts.username).encode())
        output = re.sub(rb'(user \\?")' + user + rb'(?=\\?")', rb"\1" + HIDDEN_BYTES, output)
        output = re.sub(rb"(?<![\w.-])" + user + rb"(?=@)", HIDDEN_BYTES, output)
    return output


def _replaced(output: bytes, folder: str, mark: bytes) -> bytes:
    """Replace a folder by `mark`, as it is written and as JSON escapes it."""

    def shown(found: re.Match[bytes]) -> bytes:
        if not found[1]:
            return mark or b"."
        return mark + b"/" if mark else b""

    for written in {os.fsencode(folder), json.dumps(folder)[1:-1].encode()}:
        if written in output:
            output = re.sub(BEFORE + re.escape(written) + AFTER, shown, output)
    return output


def _shortened(path: bytes, ours: Iterable[bytes]) -> bytes:
    for folder in ours:
        if path.startswith(folder + b"workers/"):
            return path.removeprefix(folder)
    below = LIBRARY.sub(b"", path)
    return below if below != path else path.rpartition(b"/")[2]
