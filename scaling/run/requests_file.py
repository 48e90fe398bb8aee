"""A user's requests, by the load generator's own rules: a file of JSON Lines, or of a browser.

The generator sends them under load; where one client is enough, `send` does.
"""

import hashlib
import http.client
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from scaling.base.errors import ScalingError, UsageError
from scaling.base.files import text_in
from scaling.base.formats import plural
from scaling.builds.child_path import workers_path
from scaling.run.redaction import hide, secrets_in
from scaling.study.definition import Sent

# ---------------------------------------------------------------------------------------------- har
# Requests as a browser saves them: a HAR file, as objects of the JSON Lines file.
#
# The first entry is the page that was opened: its host is the application's. What others answered,
# or the browser itself, is left out, and so is what the load generator cannot send.

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


# ------------------------------------------------------------------------------------ requests file

# The rules are the generator's, which runs outside of this process: it reads the file.
READ = """
import json, sys
from workers.services.load.requests_list import read_requests
from workers.services.load.target import BadInputError
try:
    print(json.dumps([request.document() for request in read_requests(sys.argv[1])]))
except BadInputError as error:
    sys.exit(str(error))
"""

CHECK = """
import json, sys
from workers.services.load.requests_list import request_from
from workers.services.load.target import BadInputError
found, refused = [], []
for document in json.load(sys.stdin):
    try:
        found.append(request_from(document, document["path"]).document())
    except BadInputError as error:
        refused.append(str(error))
print(json.dumps([found, refused]))
"""


def read_requests_file(
    file: Path, say: Callable[[str], None] = lambda _: None
) -> tuple[list[dict[str, Any]], Sent]:
    """The requests of a file, and what the study's first line says of them.

    It has a request a line, or is a HAR file; `say` gets what of that is not sent.

    Raises:
        UsageError: the file cannot be read, or a line is no request; it names file and line.
    """
    if file.suffix == SUFFIX:
        return sendable(*requests_in_har(file), say)
    requests = json.loads(_by_the_generators_rules(READ, str(file)))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return requests, Sent(count=len(requests), sha256=digest)


def sendable(
    documents: Sequence[Mapping[str, Any]], notes: Iterable[str], say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], Sent]:
    """Those of these requests that the generator can send; `say` gets `notes`, and the others.

    Raises:
        UsageError: it can send none of them.
    """
    text = json.dumps(documents)
    requests, refused = json.loads(_by_the_generators_rules(CHECK, given=text))
    secrets = secrets_in(documents)
    for line in (*notes, *(f"left out: {each}" for each in refused)):
        say(hide(line, secrets))
    if not requests:
        raise UsageError("--requests: none of them can be sent")
    return requests, Sent(count=len(requests), sha256=hashlib.sha256(text.encode()).hexdigest())


def _by_the_generators_rules(program: str, *arguments: str, given: str = "") -> str:
    """What a program prints that imports the generator."""
    with workers_path() as path:
        answer = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            input=given,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"},
            check=False,
        )
    if answer.returncode:
        words = answer.stderr.strip().rpartition("\n")[2]
        if "Traceback" in answer.stderr:
            raise ScalingError(f"--requests {' '.join(arguments)} cannot be checked: {words}")
        raise UsageError(f"--requests {words}")
    return answer.stdout


def send(connection: http.client.HTTPConnection, request: Mapping[str, Any]) -> None:
    """Send one of them; the caller reads the answer.

    Raises:
        OSError: the connection is closed, or cannot be opened.
    """
    connection.request(
        request.get("method", "GET"),
        request.get("path", "/"),
        request.get("body", "").encode() or None,
        request.get("headers", {}),
    )
