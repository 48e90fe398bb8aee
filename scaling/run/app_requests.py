"""A user's requests, by the load generator's own rules.

They come from a file of JSON Lines, from one that a browser has saved, or from the application's
own schema. The generator sends them under load; where one client is enough, `send` does.
"""

import hashlib
import http.client
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from scaling.base.errors import ScalingError, UsageError
from scaling.base.files import text_in
from scaling.base.formats import listed, plural
from scaling.builds.environments import workers_path
from scaling.run.redaction import hide, secrets_in
from scaling.study.definition import Sent

# ---------------------------------------------------------------------------------------------- har
# Requests as a browser or a proxy saves them: a HAR file, as objects of the JSON Lines file.
#
# The host of the page that was opened is the application's; where there is no page, as in what a
# proxy saves, the host with most requests. What others answered, or the browser itself, is left
# out, and so is what the load generator cannot send.

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


def requests_in_har(file: Path, host: str = "") -> tuple[list[dict[str, Any]], list[str]]:
    """The requests of a HAR file to one host, equal ones once with a weight; and what was left out.

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
    notes = [f"{file.name}: {plural(weights.total(), 'request')} to {own}{reason}"]
    if others := Counter(name for name in hosts if name not in (own, "")):
        notes.append(f"left out, to other hosts: {_named(others)}")
    if old:
        notes.append(f"{plural(old, 'request')} of {HTTP_1_0}: sent as HTTP/1.1")
    notes += [f"left out: {count} {reason}" for reason, count in reasons.items()]
    return requests, notes


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


def _is_sent(name: str, value: str) -> bool:
    """Whether a header is sent again; name and value are in small letters."""
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


# ------------------------------------------------------------------------------------ requests file

# The rules are the generator's, which runs outside of this process: it reads the file.
READ = """
import json, sys
from workers.services.load.requests_list import BadInputError, read_requests
try:
    print(json.dumps([request.document() for request in read_requests(sys.argv[1])]))
except BadInputError as error:
    sys.exit(str(error))
"""

CHECK = """
import json, sys
from workers.services.load.requests_list import BadInputError, request_from
found, refused = [], []
for document in json.load(sys.stdin):
    try:
        found.append(request_from(document, document["path"]).document())
    except BadInputError as error:
        refused.append(str(error))
print(json.dumps([found, refused]))
"""


def read_requests_file(
    file: Path, say: Callable[[str], None] = lambda _: None, host: str = ""
) -> tuple[list[dict[str, Any]], Sent]:
    """The requests of a file, and what the study's first line says of them.

    It has a request a line, or is a HAR file, of which `host` may name the one to send to; `say`
    gets what of that is not sent.

    Raises:
        UsageError: the file cannot be read, or a line is no request; it names file and line.
    """
    if file.suffix == SUFFIX:
        return sendable(*requests_in_har(file, host), say)
    if host:
        raise UsageError(f"--host {host}: {file.name} has no hosts, only a .har file has")
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
    headers = request.get("headers", {})
    chunked = any(name.lower() == "transfer-encoding" for name in headers)
    body = request.get("body", "").encode()
    connection.request(
        request.get("method", "GET"),
        request.get("path", "/"),
        body if body or chunked else None,
        headers,
        encode_chunked=chunked,
    )


# ------------------------------------------------------------------------------------------ openapi
# Requests from an application's own schema: the GET paths that can be asked as they stand.
#
# A path can be asked if each parameter that it requires has an example or a default. OpenAPI 3 is
# read, and what Swagger 2 has in common with it.

OPENAPI = "openapi"
# Where frameworks serve it.
PLACES = (
    "/openapi.json",
    "/api/openapi.json",
    "/schema/openapi.json",
    "/api/schema/?format=json",
    "/api/docs/swagger.json",
    "/swagger.json",
    "/apispec_1.json",
)
STREAMS = "text/event-stream"
DEEPEST = 20  # references that refer to references
PATHS_NAMED = 8  # paths in a note

type Object = Mapping[str, Any]


class LeftOutError(Exception):
    """A path cannot be asked; the message says why."""


def requests_in_schema(schema: Object) -> tuple[list[dict[str, Any]], list[str]]:
    """The requests that a schema gives, and what was left out, by reason.

    Raises:
        UsageError: there is none, or the schema is not as it should be.
    """
    try:
        requests, notes = _requests_of(schema)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"--requests {OPENAPI}: the application's schema cannot be read ({words})"
        ) from None
    if not requests:
        raise UsageError(
            f"--requests {OPENAPI}: {'; '.join(notes)}. Name a file of requests instead"
        )
    return requests, notes


def _requests_of(schema: Object) -> tuple[list[dict[str, Any]], list[str]]:
    requests: list[dict[str, Any]] = []
    left_out: dict[str, list[str]] = {}
    base = _base(schema)
    for path, item in schema.get("paths", {}).items():
        others = [each for each in item if each in ("post", "put", "patch", "delete")]
        if others:
            left_out.setdefault("not GET", []).extend(f"{each.upper()} {path}" for each in others)
        if "get" not in item:
            continue
        try:
            requests.append(_get_request(schema, base, path, item))
        except LeftOutError as error:
            left_out.setdefault(str(error), []).append(path)
    notes = [f"{plural(len(requests), 'GET path')} of the application's schema"]
    for reason, paths in left_out.items():
        more = f" and {len(paths) - PATHS_NAMED} more" if len(paths) > PATHS_NAMED else ""
        notes.append(f"left out, {reason}: {', '.join(paths[:PATHS_NAMED])}{more}")
    return requests, notes


def schema_in(bodies: Sequence[bytes]) -> Object:
    """The first schema among what an application answered at `PLACES`.

    Raises:
        UsageError: none of them is one.
    """
    for body in bodies:
        try:
            found = json.loads(body)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("paths"), dict):
            return found
    raise UsageError(
        f"--requests {OPENAPI}: the application has no schema at {listed(PLACES)}. "
        "Name a file of requests instead"
    )


def _get_request(schema: Object, base: str, path: str, item: Object) -> dict[str, Any]:
    operation = item["get"]
    if not _is_open(schema, operation):
        raise LeftOutError("authorization is needed")
    if _streams(operation):
        raise LeftOutError("an endless answer")
    found = _values(schema, item, operation)
    for name, texts in found["path"].items():
        path = path.replace(f"{{{name}}}", quote(",".join(texts), safe=""))
    if "{" in path:
        raise LeftOutError("a part of the path is not described")
    path = base + quote(path, safe="/%:@!$&'()*+,;=~-._")
    if found["query"]:
        path += f"?{urlencode(found['query'], doseq=True)}"
    headers = {name: ",".join(texts) for name, texts in found["header"].items()}
    if cookies := [f"{name}={','.join(texts)}" for name, texts in found["cookie"].items()]:
        headers["cookie"] = "; ".join(cookies)
    return {"path": path} | ({"headers": headers} if headers else {})


def _values(schema: Object, item: Object, operation: Object) -> dict[str, dict[str, list[str]]]:
    """By place and name, the values of all parameters that have an example, or are required."""
    found: dict[str, dict[str, list[str]]] = {"path": {}, "query": {}, "header": {}, "cookie": {}}
    for parameter in _parameters(schema, item, operation):
        name, place = parameter["name"], parameter["in"]
        value = _example(schema, parameter)
        if value is None and (place == "path" or parameter.get("required")):
            value = _default(schema, parameter)
            if value is None:
                raise LeftOutError(f"{name} has neither an example nor a default")
        if value is not None and place in found:
            found[place][name] = _texts(value)
    return found


def _parameters(schema: Object, item: Object, operation: Object) -> Iterator[Object]:
    """Those of the path, then of the operation, which win."""
    found = {}
    for each in [*item.get("parameters", ()), *operation.get("parameters", ())]:
        parameter = _resolved(schema, each)
        found[parameter["name"], parameter["in"]] = parameter
    yield from found.values()


def _example(schema: Object, parameter: Object) -> Any:
    """The first example of a parameter; None if it has none."""
    kind = _resolved(schema, parameter.get("schema", {}))
    several = parameter.get("examples") or {}
    values = [parameter.get("example"), parameter.get("x-example")]
    values += [_resolved(schema, each).get("value") for each in several.values()]
    values += [kind.get("example"), *(kind.get("examples") or ())]
    return next((each for each in values if each is not None), None)


def _default(schema: Object, parameter: Object) -> Any:
    kind = _resolved(schema, parameter.get("schema", {}))
    return kind.get("default", parameter.get("default"))


def _texts(value: Any) -> list[str]:
    """A value as it stands in a URL: that of a list several times."""
    if isinstance(value, dict):
        raise LeftOutError("an object as a parameter")
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value if isinstance(value, str) else json.dumps(value)]


def _is_open(schema: Object, operation: Object) -> bool:
    """Whether it may be asked without credentials."""
    needed = operation.get("security", schema.get("security"))
    return not needed or {} in needed


def _streams(operation: Object) -> bool:
    """Whether all that it answers with success goes on for ever."""
    kinds = [
        kind
        for status, answer in operation.get("responses", {}).items()
        if str(status).startswith("2")
        for kind in answer.get("content", {})
    ]
    return bool(kinds) and all(kind.startswith(STREAMS) for kind in kinds)


def _resolved(schema: Object, part: Object) -> Object:
    """What a part of the schema refers to."""
    for _ in range(DEEPEST):
        if "$ref" not in part:
            return part
        found: Any = schema
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found.get(name.replace("~1", "/").replace("~0", "~"), {})
        part = found
    return {}


def _base(schema: Object) -> str:
    """What stands before every path, where a schema says so."""
    servers = schema.get("servers") or [{}]
    url = schema.get("basePath") or servers[0].get("url", "")
    parts = urlsplit(url)
    return "" if parts.netloc or "{" in url else parts.path.rstrip("/")
