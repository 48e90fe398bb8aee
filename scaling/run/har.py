"""Requests as a browser or a proxy saves them: a HAR file, as objects of the JSON Lines file.

The host of the page that was opened is the application's; where there is no page, as in what a
proxy saves, the host with most requests. What others answered, or the browser itself, is left out,
and so is what the load generator cannot send.
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
# Said anew for each connection, unless these values ask for something; HTTP/2 has pseudo-headers,
# which begin with a colon.
NEVER = "\n"  # in no header
OWN_HEADERS: Mapping[str, str] = {
    "connection": "close",
    "transfer-encoding": "chunked",
    **dict.fromkeys(("content-length", "keep-alive", "proxy-connection", "upgrade"), NEVER),
}
FIRST_ERROR = 400
SAFE = "!#$%&'()*+,/:;=?@[]~-._"  # in a URL, of what is ASCII
SWITCHING = 101
SCHEMES = ("http", "https", "ws", "wss")
HTTP_1_0 = "HTTP/1.0"
HOSTS_NAMED = 5  # hosts in a note


def requests_in_har(file: Path, host: str = "") -> tuple[list[dict[str, Any]], str, list[str]]:
    """The requests of a HAR file to one host, equal ones once with a weight; words for their
    source; and what was left out.

    Raises:
        UsageError: the file cannot be read, is no HAR, or has no request to that host.
    """
    log = _log(file)
    hosts = [_host(each) for each in log["entries"]]
    sendable = [name for name, each in zip(hosts, log["entries"], strict=True) if not _unfit(each)]
    own, reason = _own_host(log, sendable, host.lower())
    reasons: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    old = 0
    for entry, name in zip(log["entries"], hosts, strict=True):
        if name in (own, ""):
            if unfit := _unfit(entry):
                reasons[unfit] += 1
            else:
                weights[json.dumps(_har_request(entry))] += 1
                old += str(entry["request"].get("httpVersion")).upper() == HTTP_1_0
    if not weights:
        named = _named(Counter(sendable)) or "none"
        raise UsageError(
            f"--requests {file}: no request to {own} in it that can be sent again; "
            f"hosts with such requests: {named}"
        )
    requests = [
        json.loads(text) | ({"weight": count} if count > 1 else {})
        for text, count in weights.items()
    ]
    notes = []
    if others := Counter(name for name in hosts if name not in (own, "")):
        notes.append(f"left out, to other hosts: {_named(others)}")
    if old:
        notes.append(f"{plural(old, 'request')} of {HTTP_1_0}: sent as HTTP/1.1")
    notes += [f"left out: {count} {reason}" for reason, count in reasons.items()]
    return requests, f"of {file.name} to {own}{reason}", notes


def _own_host(log: Mapping[str, Any], sendable: Sequence[str], asked: str) -> tuple[str, str]:
    """The host of the application, and why it is that one where several could be."""
    if asked:
        fits = (each for each in sendable if asked in (each, each.partition(":")[0]))
        return next(fits, asked), ""
    pages = [page["id"] for page in log.get("pages") or ()]
    of_page = (
        each for each in log["entries"] if _host(each) and each.get("pageref") in (*pages, None)
    )
    if pages and (first := next(of_page, None)):
        return _host(first), ""
    counts = Counter(sendable)
    if not counts:
        return next(filter(None, map(_host, log["entries"])), "any host"), ""
    ((most, _),) = counts.most_common(1)
    return most, ", the host with most (--host names another)" if len(counts) > 1 else ""


def _named(counts: Counter[str]) -> str:
    """`a.example (3), b.example (1) and 2 more hosts`."""
    named = ", ".join(f"{host} ({count})" for host, count in counts.most_common(HOSTS_NAMED))
    more = len(counts) - HOSTS_NAMED
    return f"{named} and {plural(more, 'more host')}" if more > 0 else named


def _log(file: Path) -> Mapping[str, Any]:
    text = text_in(file, "there is no such file")
    try:
        log = json.loads(text)["log"]
        for each in log["entries"]:
            _host(each), _unfit(each), _har_request(each), each.get("pageref")
        [page["id"] for page in log.get("pages") or ()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"--requests {file}: not a HAR file ({type(error).__name__}: {error}). "
            "Save it again from the browser's network panel"
        ) from None
    if not log["entries"]:
        raise UsageError(f"--requests {file}: no requests in it")
    return dict(log)


def _host(entry: Mapping[str, Any]) -> str:
    """The host that was asked; empty for a URL of the browser's own."""
    parts = urlsplit(str(entry["request"]["url"]))
    return parts.netloc.rpartition("@")[2].lower() if parts.scheme in SCHEMES else ""


def _unfit(entry: Mapping[str, Any]) -> str:
    """The reason that an entry is not sent again; empty if it is."""
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


def _is_sent(name: str, value: str) -> bool:
    """Return True if a header is sent again; name and value are in small letters."""
    return not name.startswith(":") and OWN_HEADERS.get(name, value) == value


def _har_request(entry: Mapping[str, Any]) -> dict[str, Any]:
    request = entry["request"]
    parts = urlsplit(request["url"])
    path = quote(parts.path or "/", safe=SAFE)
    query = f"?{quote(parts.query, safe=SAFE)}" if parts.query else ""
    found: dict[str, Any] = {"method": request["method"].upper(), "path": f"{path}{query}"}
    headers = {
        each["name"]: each["value"]
        for each in request.get("headers", ())
        if _is_sent(each["name"].lower(), each["value"].lower())
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
