"""Output of a child without the paths and addresses of a user: people publish their journals."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from scaling.builds import cache
from scaling.builds.installed import URLS

CHARACTER = rb'(?:[^"\\\n]|\\u[0-9a-fA-F]{4})'  # of a path, as it is or as JSON escapes it
NAMED_FILES = (
    # As tracebacks and `faulthandler` print a file; inside a record the quotation mark is escaped.
    re.compile(rb'(file \\?")(/' + CHARACTER + rb"+)", re.IGNORECASE),
    # As a warning does, at the start of a line; and an ImportError, in parentheses.
    re.compile(rb"(^|\\n)(/[^:\"\n]+)(?=:\d+: )", re.MULTILINE),
    re.compile(rb"(\()(/" + CHARACTER + rb"+?\.(?:py|pyc|so))(?=\))"),
)
LIBRARY = re.compile(rb".*/(?:site-packages|dist-packages|python3\.\d+t?)/")
BEFORE = rb"(?:(?<![\w.~/-])|(?<=\\n))"  # a path begins here; JSON may write a line's end as \n
HIDDEN = b"(hidden)"
LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = ("localhost", LOOPBACK, "::1")
AFTER = rb"(/+|(?![\w-]))"


def without_paths(output: bytes, folders: Iterable[str]) -> bytes:
    """Shorten paths below any of `folders`, and paths that Python itself prints.

    Of a file below a folder of packages the part below stays, of any other file its name. The
    user's home becomes `~`.
    """
    for pattern in NAMED_FILES:
        output = pattern.sub(lambda found: found[1] + _shortened(found[2]), output)
    marks = {each.rstrip("/"): b"" for each in folders if Path(each).is_absolute()}
    with contextlib.suppress(RuntimeError):  # a user without a home
        marks[str(Path.home()).rstrip("/")] = b"~"
    for folder in sorted(filter(None, marks), key=len, reverse=True):
        output = _replaced(output, folder, marks[folder])
    return output


def without_own_paths(text: str) -> str:
    """What a service says, without the folders of temporary files and of the cache.

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
        return output.replace(url.encode(), HIDDEN)
    host = parts.hostname if parts.hostname not in LOOPBACK_NAMES else None
    names = {url, parts.netloc, host or ""} - {"", *LOOPBACK_NAMES}
    for name in sorted(names, key=len, reverse=True):
        whole_word = rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w.-])"
        output = re.sub(whole_word, HIDDEN, output)
    if parts.password:
        password = re.escape(unquote(parts.password).encode())
        output = re.sub(rb"(:)" + password + rb"(?=@)", rb"\1" + HIDDEN, output)
        output = re.sub(rb"(password\W{1,3})" + password + rb"(?!\w)", rb"\1" + HIDDEN, output)
    if parts.username:
        user = re.escape(unquote(parts.username).encode())
        output = re.sub(rb'(user \\?")' + user + rb'(?=\\?")', rb"\1" + HIDDEN, output)
        output = re.sub(rb"(?<![\w.-])" + user + rb"(?=@)", HIDDEN, output)
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


def _shortened(path: bytes) -> bytes:
    below = LIBRARY.sub(b"", path)
    return below if below != path else path.rpartition(b"/")[2]
