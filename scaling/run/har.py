"""Requests as a browser saves them: a HAR file, as objects of the JSON Lines file.

The first entry is the page that was opened: its host is the application's. What others answered, or
the browser itself, is left out, and so is what the load generator cannot send.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.formats import plural

SUFFIX = ".har"
# Said anew for each connection; HTTP/2 has pseudo-headers, which begin with a colon.
OWN_HEADERS = ("connection", "content-length", "transfer-encoding", "keep-alive", "upgrade")
FIRST_ERROR = 400
SAFE = "!#$%&'()*+,/:;=?@[]~-._"  # in a URL, of what is ASCII
SWITCHING = 101
SCHEMES = ("http", "https", "ws", "wss")
NAMED = 5  # hosts in a note


def requests_in_har(file: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The requests of a HAR file to one host, equal ones once with a weight; and what was left out.

    Raises:
        UsageError: the file cannot be read, is no HAR, or has no request in it.
    """
    entries = _entries(file)
    hosts = [_host(each) for each in entries]
    own = next(filter(None, hosts), "any host")
    others = Counter(host for host in hosts if host not in (own, ""))
    reasons: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for entry, host in zip(entries, hosts, strict=True):
        if host in (own, ""):
            if reason := _unfit(entry):
                reasons[reason] += 1
            else:
                weights[json.dumps(_request(entry))] += 1
    if not weights:
        raise UsageError(f"--requests {file}: no request to {own} in it that can be sent again")
    requests = [
        json.loads(text) | ({"weight": count} if count > 1 else {})
        for text, count in weights.items()
    ]
    notes = [f"{file.name}: {plural(weights.total(), 'request')} to {own}"]
    if others:
        named = ", ".join(f"{host} ({count})" for host, count in others.most_common(NAMED))
        more = f" and {plural(len(others) - NAMED, 'more host')}" if len(others) > NAMED else ""
        notes.append(f"left out, to other hosts: {named}{more}")
    notes += [f"left out: {count} {reason}" for reason, count in reasons.items()]
    return requests, notes


def _entries(file: Path) -> Sequence[Mapping[str, Any]]:
    text = text_in(file, "there is no such file")
    try:
        entries = json.loads(text.removeprefix("\ufeff"))["log"]["entries"]
        for each in entries:
            _host(each), _unfit(each), _request(each)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"--requests {file}: not a HAR file ({type(error).__name__}: {error}). "
            "Save it again from the browser's network panel"
        ) from None
    if not entries:
        raise UsageError(f"--requests {file}: no requests in it")
    return list(entries)


def _host(entry: Mapping[str, Any]) -> str:
    """The host that was asked; empty for a URL of the browser's own."""
    parts = urlsplit(str(entry["request"]["url"]))
    return parts.netloc.rpartition("@")[2].lower() if parts.scheme in SCHEMES else ""


def _unfit(entry: Mapping[str, Any]) -> str:
    """Why an entry is not sent again; empty if it is."""
    request, status = entry["request"], entry.get("response", {}).get("status", 0)
    if not _host(entry):
        return "of the browser's own (data:, blob:, extensions)"
    if status == SWITCHING or urlsplit(request["url"]).scheme in ("ws", "wss"):
        return "over WebSocket"
    if "_fromCache" in entry:
        return "answered from the browser's cache"
    if not status:
        return "without an answer"
    posted = request.get("postData") or {}
    if posted.get("encoding") == "base64" or "\ufffd" in posted.get("text", ""):
        return "with a binary body"
    if posted.get("mimeType", "").startswith("multipart/") and not posted.get("text"):
        return "with a body that the browser did not save"
    return ""


def _request(entry: Mapping[str, Any]) -> dict[str, Any]:
    request = entry["request"]
    parts = urlsplit(request["url"])
    path = quote(parts.path or "/", safe=SAFE)
    query = f"?{quote(parts.query, safe=SAFE)}" if parts.query else ""
    found: dict[str, Any] = {"method": request["method"].upper(), "path": f"{path}{query}"}
    headers = {
        each["name"]: each["value"]
        for each in request.get("headers", ())
        if not each["name"].startswith(":") and each["name"].lower() not in OWN_HEADERS
    }
    names = {name.lower() for name in headers}
    if "cookie" not in names and (cookies := request.get("cookies")):
        headers["cookie"] = "; ".join(f"{each['name']}={each['value']}" for each in cookies)
    if "host" not in names:
        headers["host"] = parts.netloc.rpartition("@")[2]
    found["headers"] = headers
    posted = request.get("postData") or {}
    pairs = [(each["name"], each.get("value", "")) for each in posted.get("params") or ()]
    if body := posted.get("text") or urlencode(pairs):
        found["body"] = body
    status = entry.get("response", {}).get("status", 0)
    return found | ({"status": status} if status >= FIRST_ERROR else {})
