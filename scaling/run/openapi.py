"""Requests from an application's own schema: the GET paths that can be asked as they stand.

A path can be asked if each parameter that it requires has an example or a default. OpenAPI 3 is
read, and what Swagger 2 has in common with it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from scaling.base.errors import UsageError
from scaling.base.formats import listed

OPENAPI = "openapi"
# The paths at which frameworks serve it.
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


def requests_in_schema(schema: Object) -> tuple[list[dict[str, Any]], str, list[str]]:
    """The requests that a schema gives; words for their source; and what was left out, by reason.

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
        reasons = "; ".join(["no GET path can be asked", *notes])
        raise UsageError(f"--requests {OPENAPI}: {reasons}. Name a file of requests instead")
    return requests, "of the application's schema", notes


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
    notes = []
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
    """The parameters of the path, then those of the operation, which win."""
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
    """Return True if an operation needs no credentials."""
    needed = operation.get("security", schema.get("security"))
    return not needed or {} in needed


def _streams(operation: Object) -> bool:
    """Return True if all successful answers of an operation are endless."""
    kinds = [
        kind
        for status, answer in operation.get("responses", {}).items()
        if str(status).startswith("2")
        for kind in answer.get("content", {})
    ]
    return bool(kinds) and all(kind.startswith(STREAMS) for kind in kinds)


def _resolved(schema: Object, part: Object) -> Object:
    """The part that a reference in the schema refers to."""
    for _ in range(DEEPEST):
        if "$ref" not in part:
            return part
        found: Any = schema
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found.get(name.replace("~1", "/").replace("~0", "~"), {})
        part = found
    return {}


def _base(schema: Object) -> str:
    """The beginning of every path, where a schema says so."""
    servers = schema.get("servers") or [{}]
    url = schema.get("basePath") or servers[0].get("url", "")
    parts = urlsplit(url)
    return "" if parts.netloc or "{" in url else parts.path.rstrip("/")
