"""The requests that are sent: one, or a list from JSON lines; `workers/README.md` has the keys.

Requests with weights are drawn at random. Where one saves something of its answer for later ones
(`workers.services.load.sequence`), each connection sends the list in its order.
"""

import itertools
import json
import random
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from workers.services.load.request import Request
from workers.services.load.sequence import problem_of_saving, problem_of_sequence
from workers.services.load.targets import BadInputError

WEIGHT_MOST = 1e100
# Headers that frame a request, and which of their values are sent.
FRAMING: Mapping[str, Sequence[str]] = {
    "connection": ("close", "keep-alive"),
    "transfer-encoding": ("chunked",),
    "content-length": (),
}
TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {  # and what they are called
    "method": (str, "a text"),
    "path": (str, "a text"),
    "headers": (dict, "an object"),
    "body": (str, "a text"),
    "json": (object, "any value"),
    "weight": ((int, float), "a number"),
    "status": (int, "a whole number"),
    "declined": (list, "a list"),
    "background": (bool, "true or false"),
    "room": (int, "a whole number"),
    "stalled": (int, "a whole number"),
    "save": (dict, "an object"),
    "websocket": (str, "a text"),
    "send": (list, "a list"),
    "receive": ((int, list), "a whole number or a list"),
}
# Names of values that may be secrets; others are shown.
KINDS: Mapping[object, str] = {str: "a text", list: "a list", dict: "an object"}
OF_WEBSOCKETS = ("send", "receive")
WITH_WEBSOCKET = ("websocket", *OF_WEBSOCKETS, "headers", "weight", "background", "save")


def draw(weights: Sequence[float], seed: str) -> Callable[[], int]:
    """Make a function that draws positions in the list, the same ones for a seed."""
    if len(weights) == 1:
        return lambda: 0
    choices, positions = random.Random(seed).choices, range(len(weights))
    totals = list(itertools.accumulate(weights))
    return lambda: choices(positions, cum_weights=totals)[0]


def read_requests(file: str) -> list[Request]:
    """Read a list of requests; empty lines, and a byte order mark, are skipped.

    Raises:
        BadInputError: the file cannot be read, or a line is wrong; it names file and line.
    """
    try:
        with open(file, "rb") as lines:
            found = [
                request_from(_decoded(line, place), place, number)
                for number, (place, line) in enumerate(_lines(lines, file), 1)
                if line.strip()
            ]
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}") from None
    if not found:
        raise BadInputError(f"{file}: no requests in it")
    require_sequence(found, f"{file}, ")
    return found


def require_sequence(requests: Sequence[Request], where: str) -> None:
    """Make sure that what requests need of earlier answers has been saved.

    Raises:
        BadInputError: it has not, or they cannot be sent in order; `where` begins the message.
    """
    if found := problem_of_sequence(requests):
        request, problem = found
        raise BadInputError(f"{where}{request.place}: {problem}")


def _lines(lines: Iterable[bytes], file: str) -> Iterator[tuple[str, bytes]]:
    """The lines of a file, each with what it is called in messages."""
    for number, line in enumerate(lines, 1):
        yield f"{file}, line {number}", line.removeprefix(BOM_UTF8) if number == 1 else line


def _decoded(line: bytes, place: str) -> Any:
    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadInputError(f"{place}: the key {twice[0]!r} is there twice")
        return dict(pairs)

    try:
        return json.loads(line.decode(), object_pairs_hook=unique)
    except UnicodeDecodeError:
        raise BadInputError(f"{place}: not UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadInputError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except ValueError:  # Python converts no longer one
        raise BadInputError(f"{place}: a number of thousands of digits") from None
    except RecursionError:
        raise BadInputError(f"{place}: lists or objects are nested too deeply") from None


def request_from(document: Any, place: str, line: int = 0) -> Request:
    """The request of a decoded line, which is called `place` in messages, and is `line` of a file.

    Raises:
        BadInputError: it is not a request.
    """
    if not isinstance(document, dict):
        raise BadInputError(f'{place}: expected an object like {{"path": "/"}}')
    for name, value in document.items():
        if name not in TYPES:
            raise BadInputError(f"{place}: unknown key {name!r}; known: {', '.join(TYPES)}")
        kind, words = TYPES[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
            hint = '; "json" takes objects and lists' if name == "body" else ""
            raise BadInputError(f"{place}: {name} must be {words}, not {_kind(value)}{hint}")
    for name, value in document.get("headers", {}).items():
        if not isinstance(value, str):
            raise BadInputError(f"{place}: header {name} must be a text, not {_kind(value)}")
    if problem := _problem_of_websocket(document) or problem_of_saving(document.get("save", {})):
        raise BadInputError(f"{place}: {problem}")
    request = Request(**_as_texts(_json_as_body(document, place)), line=line)
    if problem := _problem(request):
        raise BadInputError(f"{place}: {problem}")
    return request


def _kind(value: Any) -> str:
    return KINDS.get(type(value), repr(value))


def _problem_of_websocket(document: Mapping[str, Any]) -> str:
    """The keys that exclude each other, as a message; empty if there are none."""
    if "websocket" not in document:
        needs = next((name for name in OF_WEBSOCKETS if name in document), None)
        return f'{needs} needs "websocket", the path of one' if needs else ""
    if others := [name for name in document if name not in WITH_WEBSOCKET]:
        return f"websocket and {others[0]} exclude each other"
    receive = document.get("receive", 1)
    if receive == [] or (isinstance(receive, int) and receive < 1):
        return f"receive must be 1 or more, or a list of what comes, not {receive!r}"
    return ""


def _as_texts(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with messages of WebSockets as texts: all but texts are sent as JSON."""
    found = dict(document)
    for name in OF_WEBSOCKETS:
        if isinstance(listed := found.get(name), list):
            found[name] = [each if isinstance(each, str) else json.dumps(each) for each in listed]
    return found


def _json_as_body(document: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    if "json" not in document:
        return document
    if "body" in document:
        raise BadInputError(f"{place}: body and json exclude each other")
    others = {name: value for name, value in document.items() if name != "json"}
    headers = document.get("headers", {})
    if not any(name.lower() == "content-type" for name in headers):
        headers = {**headers, "content-type": "application/json"}
    return {**others, "headers": headers, "body": json.dumps(document["json"])}


def _problem(request: Request) -> str:
    """The reason that a server could not take it, or would see several requests; empty if none."""
    if not (request.method.isascii() and request.method.isalpha() and request.method.isupper()):
        return f"method {request.method!r} is not a word in capitals"
    if request.method == "CONNECT":
        return "method CONNECT is not supported"
    for path in filter(None, (request.path, request.websocket)):
        if not (path.startswith("/") and path.isascii() and _is_plain(path, " ")):
            return f"path {path!r} must begin with / and hold only ASCII without blanks"
        if "#" in path:
            return f"path {path!r}: what follows # is never sent; leave it out"
    if "" in (request.path, request.websocket):
        return "path '' must begin with / and hold only ASCII without blanks"
    if problem := _problem_of_headers(request.headers):
        return problem
    if any("\ud800" <= letter <= "\udfff" for text in _texts(request) for letter in text):
        return "body: half of a surrogate pair is no text"
    if not 0 < request.weight < WEIGHT_MOST:
        return f"weight {request.weight} is not above 0, or too large"
    return _problem_of_numbers(request)


def _texts(request: Request) -> Iterator[str]:
    """The texts that it sends in bodies and messages, or compares with these."""
    yield from (request.body, *request.send)
    if not isinstance(request.receive, int):
        yield from request.receive


def _problem_of_headers(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        values = FRAMING.get(name.lower())
        if values is not None and value.lower() not in values:
            can_be = f" unless it is {' or '.join(values)}" if values else ""
            return f"header {name} is set by the generator; leave it out{can_be}"
        if not (name and name.isascii() and _is_plain(name, " :")):
            return f"header {name!r} is not a header's name"
        if not _is_plain(value) or not all(ord(letter) < 256 for letter in value):
            return f"header {name}: no line breaks and only Latin-1"
    return ""


def _problem_of_numbers(request: Request) -> str:
    if request.room < 1 or request.stalled < 0:
        return f"a room of {request.room} members with {request.stalled} stalled ones is none"
    for status in (request.status, *request.declined):
        if status is not None and not (type(status) is int and 200 <= status <= 599):
            return f"status {status!r} is not from 200 to 599"
    return ""


def _is_plain(text: str, but: str = "") -> bool:
    return all((letter.isprintable() or letter == "\t") and letter not in but for letter in text)
