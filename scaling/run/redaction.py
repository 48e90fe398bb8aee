"""Secrets, paths and addresses in requests and output are hidden in all that is written.

People publish their journals.
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
# The placeholder of a saved value, alone or behind a scheme: no secret itself.
SAVED = re.compile(r"(\w+ )?\{\w+\}")
LITERALS = ("true", "false", "null")
# The parts of a child's record in which an application's own words are.
FACTS = "facts"
WORDS = ("failure", "error_samples", FACTS)


def secrets_in(requests: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The secret values in these requests, and pairs of `name=value` of short ones."""
    found: set[str] = set()
    for request in requests:
        for name, value in _named(request):
            if SAVED.fullmatch(value):
                continue
            if len(value) >= SHORTEST:
                found |= _written(value)
            else:
                found |= {f"{name}={each}" for each in _written(value)}
    return frozenset(each for each in found if len(each) >= SHORTEST)


def spellings(values: Iterable[str]) -> set[str]:
    """Secret values as they may be written: as they are, quoted for a URL, escaped for JSON.

    Values that are any word are left out.
    """
    found = {each for value in values if value not in LITERALS for each in _written(value)}
    return {each for each in found if len(each) >= SHORTEST}


def _written(value: str) -> set[str]:
    quoted = [each(value, safe="", errors=KEPT) for each in (quote, quote_plus)]
    escaped = (json.dumps(each)[1:-1] for each in (value, unquote(value)))
    return {value, *quoted, unquote(value), *escaped}


def hide(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets: short ones as whole words, long ones wherever they stand, and
    the parts that are left where the text was cut at one.
    """
    # Of thousands, those of which the text may have a part.
    some = [each for each in secrets if each[:SHORTEST] in text or each[-SHORTEST:] in text]
    for each in sorted(some, key=len, reverse=True):
        if each in text:
            word = re.escape(each)
            text = re.sub(word if len(each) >= LONG else rf"(?<!\w){word}(?!\w)", HIDDEN, text)
    for each in filter(lambda secret: len(secret) >= LONG, some):
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


class Hiding:
    """Hides secrets in what a child says: those of requests, and those of its answers.

    Where the latter are not known (None), nothing that may hold one is kept: of its own words the
    types of exceptions, and their places.
    """

    def __init__(self, secrets: Collection[str], of_answers: Collection[str] | None) -> None:
        self._secrets = {*secrets, *(of_answers or ())}
        self._known = of_answers is not None

    def in_output(self, output: bytes) -> bytes:
        """Standard error of a child."""
        if not (self._secrets or not self._known):
            return output
        return self._hidden(output.decode(errors="replace")).encode()

    def in_record(self, printed: bytes) -> bytes:
        """The output of a child: a record's figures and names stay as they are."""
        if not (self._secrets or not self._known):
            return printed
        try:
            record = json.loads(printed)
        except ValueError:  # it printed something else
            return self.in_output(printed)
        hidden = self._in_part(record)
        return printed if hidden == record else json.dumps(hidden).encode()

    def _hidden(self, text: str) -> str:
        text = hide(text, self._secrets)
        return text if self._known else without_words(text)

    def _in_part(self, value: Any, part: str = "") -> Any:
        """A value of a record, in the part of it (one of `WORDS`) that has the application's own
        words, if any; facts are those of its server.
        """
        if isinstance(value, dict):
            return {
                name: self._in_part(each, part or (name if name in WORDS else ""))
                for name, each in value.items()
            }
        if isinstance(value, list):
            return [self._in_part(each, part) for each in value]
        if not (part and isinstance(value, str)):
            return value
        return hide(value, self._secrets) if part == FACTS else self._hidden(value)


PLACE = re.compile(r'\s*File "[^"]*", line \d+.*')
EXCEPTION = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)): .*")


def without_words(text: str) -> str:
    """Of each line what holds no value: a place in a file, the type of an exception."""

    def kept(line: str) -> str:
        if PLACE.fullmatch(line) or line.startswith(("Traceback ", "Fatal Python error: ")):
            return line
        found = EXCEPTION.fullmatch(line)
        return f"{found[1]}: {HIDDEN}" if found else HIDDEN if line.strip() else line

    return "\n".join(map(kept, text.split("\n")))


def _named(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values of all that is secret in a request."""
    headers = request.get("headers", {})
    for name, value in headers.items() if isinstance(headers, dict) else ():
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
    query = str(request.get("path") or request.get("websocket")).partition("?")[2]
    pairs = parse_qsl(query.partition("#")[0], keep_blank_values=True)
    for texts in map(request.get, ("body", "json", "send", "receive")):
        for text in texts if isinstance(texts, list) else [texts]:
            pairs += _fields(text)
    yield from ((name, value) for name, value in pairs if value and NAMES.search(name))


def _basic(scheme: str, credentials: str) -> Iterator[tuple[str, str]]:
    """The password that HTTP's own authentication sends."""
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):  # it is no such pair
            pair = base64.b64decode(credentials, validate=True).decode()
            yield "password", pair
            yield "password", pair.partition(":")[2]


def _fields(body: Any) -> list[tuple[str, str]]:
    """Names and texts in a body or a message: of JSON, or of a form."""
    try:
        return list(_texts("", json.loads(body) if isinstance(body, str) else body))
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
    """Words of a service or sampler, without the folders of temporary files and of the cache.

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
