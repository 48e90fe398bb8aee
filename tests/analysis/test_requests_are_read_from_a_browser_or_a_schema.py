"""`--requests` takes what people have: a browser's HAR file, or the application's own schema.

Cookies and tokens in them are sent, and never written down.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import UsageError
from scaling.run.app_requests import read_requests_file
from scaling.run.openapi import requests_in_schema, schema_in
from scaling.run.redaction import HIDDEN, Hiding, hide, secrets_in


def entry(url: str, method: str = "GET", status: int = 200, **request: Any) -> dict[str, Any]:
    headers = request.pop("headers", {})
    listed = [{"name": name, "value": value} for name, value in headers.items()]
    more = {key: request.pop(key) for key in list(request) if key.startswith("_")}
    asked = {"method": method, "url": url, "headers": listed, **request}
    return {"request": asked, "response": {"status": status}, **more}


PAGES = [{"id": "page_1", "title": "https://shop.example/"}]


def read(
    tmp_path: Path, *entries: Mapping[str, Any], host: str = "", pages: Any = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    file = tmp_path / "capture.har"
    file.write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    notes: list[str] = []
    requests, sent = read_requests_file(file, notes.append, host)
    assert sent.count == len(requests)
    return requests, notes


def test_a_capture_becomes_requests_to_the_host_of_its_page(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """With its cookies and bodies; equal requests have a weight. What cannot be sent again is left
    out, and said.
    """
    own = {":authority": "shop.example", "Connection": "keep-alive", "Accept": "*/*"}
    cookies = [{"name": "sid", "value": "a1b2c3d4"}, {"name": "theme", "value": "dark"}]
    posted = {"mimeType": "application/json", "text": '{"id": 8}'}
    form = {
        "mimeType": "application/x-www-form-urlencoded",
        "params": [{"name": "a", "value": "b c"}],
    }
    binary = {"text": "\ufffd\ufffdPNG"}
    old = entry("https://shop.example/b", "POST", postData=form, headers={"Connection": "close"})
    old["request"]["httpVersion"] = "HTTP/1.0"
    found = read(
        tmp_path,
        entry("https://shop.example/", headers=own, cookies=cookies),
        entry("https://cdn.example/app.js"),
        entry("https://fonts.example/a.woff"),
        entry("https://cdn.example/app.css"),
        entry("https://shop.example/find?q=a b&x=é#part"),
        entry("https://shop.example/gone", status=404),
        entry("https://shop.example/items", "POST", postData=posted),
        entry("https://shop.example/items", "POST", postData=posted),
        old,
        entry("wss://shop.example/live", status=101),
        entry("https://shop.example/a", _fromCache="disk"),
        entry("https://shop.example/unanswered", status=0),
        entry("data:image/png,x"),
        entry("https://shop.example/c", "POST", postData=binary),
        entry("https://shop.example/d", headers={"X-Name": "Łódź"}),
        pages=PAGES,
    )
    assert found == snapshot


TELEMETRY = [entry("https://t.example/v1", "POST"), entry("https://t.example/v1", "POST")]
OF_SHOP = [entry(f"https://shop.example/{each}") for each in "abc"]
UPDATES = [entry(f"wss://live.example/{each}", status=101) for each in range(9)]
MOST = ", the host with most (--host names another)"


@pytest.mark.parametrize(
    ("entries", "host", "pages", "own", "reason"),
    [
        ([*TELEMETRY, *OF_SHOP], "", (), "shop.example", MOST),  # as a proxy saves it
        ([*TELEMETRY, *UPDATES, *OF_SHOP], "", (), "shop.example", MOST),  # what can be sent
        (OF_SHOP, "", (), "shop.example", ""),
        ([*TELEMETRY, *OF_SHOP], "T.Example", PAGES, "t.example", ""),
        ([entry("http://localhost:8000/")], "localhost", (), "localhost:8000", ""),
        # The page of a browser has more from a CDN, and what another tab asks for comes first.
        (
            [{**TELEMETRY[0], "pageref": "page_0"}]
            + [{**each, "pageref": "page_1"} for each in (OF_SHOP[0], *TELEMETRY)],
            *("", PAGES, "shop.example", ""),
        ),
    ],
)
def test_the_host_is_that_of_the_page_or_of_most_requests_or_the_one_named(
    entries: list[Mapping[str, Any]],
    host: str,
    pages: Any,
    own: str,
    reason: str,
    tmp_path: Path,
) -> None:
    requests, notes = read(tmp_path, *entries, host=host, pages=pages)
    assert {each["headers"]["host"] for each in requests} == {own}
    count = sum(each.get("weight", 1) for each in requests)
    assert notes[0] == f"{count} request{'s' * (count > 1)} of capture.har to {own}{reason}"


def test_a_bad_capture_is_said_in_a_line(tmp_path: Path) -> None:
    unanswered = '{"log": {"entries": [{"request": {"url": "http://a/", "method": "GET"}}]}}'
    for text, said in (
        ("{", "not a HAR file"),
        ('{"log": {"entries": [{"request": 1}]}}', "not a HAR file"),
        ('{"log": {"entries": []}}', "no requests in it"),
        (unanswered, "no request to a in it that can be sent again"),
    ):
        (tmp_path / "bad.har").write_text(text)
        with pytest.raises(UsageError, match=said) as refused:
            read_requests_file(tmp_path / "bad.har")
        assert "\n" not in str(refused.value)
    with pytest.raises(UsageError, match="there is no such file"):
        read_requests_file(tmp_path / "none.har")


PAGE = {"name": "page", "in": "query", "schema": {"type": "integer", "default": 1}}
ITEM = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}


def get(*parameters: Mapping[str, Any], **operation: Any) -> dict[str, Any]:
    return {"get": {"parameters": list(parameters), **operation}}


def schema(paths: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "paths": paths, **more}


def test_a_schema_becomes_requests_with_its_examples_below_its_server(
    snapshot: SnapshotAssertion,
) -> None:
    """What is left out is said by reason."""
    stream: dict[str, Any] = {"responses": {"200": {"content": {"text/event-stream": {}}}}}
    paths = {
        "/": {**get(), "post": {}},
        "/optional": get(PAGE),
        "/required": get({**PAGE, "required": True}),
        "/example/{id}": get({**ITEM, "example": 7}),
        "/of-schema/{id}": get(ITEM | {"schema": {"examples": ["a b"]}}),
        "/referred/{id}": get({"$ref": "#/components/parameters/id"}),
        "/shared/{id}": {"parameters": [ITEM | {"examples": {"one": {"value": 1}}}], "get": {}},
        "/list": get({**PAGE, "example": [1, 2]}),
        "/header": get({**PAGE, "in": "header", "example": True}),
        "/cookie": get({**PAGE, "in": "cookie", "example": 2}),
        "/unknown/{id}": get(ITEM),
        "/mine": get(security=[{"bearer": []}]),
        "/live": get(**stream),
    }
    components = {"parameters": {"id": {**ITEM, "schema": {"default": 3}}}}
    asked = schema(paths, components=components, servers=[{"url": "/v1/"}])
    assert requests_in_schema(asked) == snapshot
    elsewhere = schema({"/": get()}, servers=[{"url": "https://x.example/v1"}])
    assert requests_in_schema(elsewhere)[0] == [{"path": "/"}]


def test_a_schema_that_gives_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="id has neither an example nor a default"):
        requests_in_schema(schema({"/items/{id}": get(ITEM)}))
    with pytest.raises(UsageError, match="cannot be read"):
        requests_in_schema(schema({"/": {"get": {"parameters": [1]}}}))
    bodies: Sequence[bytes] = [b"<html>", b"[]", b'{"detail": "not found"}']
    with pytest.raises(UsageError, match=r"has no schema at /openapi\.json"):
        schema_in(bodies)
    assert schema_in([*bodies, b'{"paths": {"/": {}}}']) == {"paths": {"/": {}}}


TOKEN = "eyJhbGciOi.Jzb21l"


@pytest.mark.parametrize(
    ("request_", "secret"),
    [
        ({"headers": {"Cookie": f"sid={TOKEN}; theme=dark"}}, TOKEN),
        ({"headers": {"Authorization": f"Bearer {TOKEN}"}}, TOKEN),
        ({"headers": {"Authorization": "Basic dXNlcjpvcGVuIHNlc2FtZQ=="}}, "open sesame"),
        ({"headers": {"X-Api-Key": TOKEN}}, TOKEN),
        ({"path": f"/a?access_token={TOKEN}&page=2"}, TOKEN),
        ({"path": "/a?password=open%20sesame"}, "open sesame"),
        ({"path": "/a?password=open%20sesame"}, "open%20sesame"),
        ({"body": '{"user": {"password": "open sesame"}}'}, "open sesame"),
        ({"body": "user=me&csrf_token=a%2Bbcdef"}, "a+bcdef"),
        ({"websocket": f"/ws?token={TOKEN}"}, TOKEN),
        ({"websocket": "/ws", "send": ["a", f'{{"token": "{TOKEN}"}}']}, TOKEN),
        ({"websocket": "/ws", "receive": [f'{{"token": "{TOKEN}"}}']}, TOKEN),
        ({"websocket": "/ws", "send": [f"token={TOKEN}"], "receive": 2}, TOKEN),
        # Odd ones.
        ({"path": "//[x?token=opensesame"}, "opensesame"),
        ({"body": '{"password": "sesame\\ud800"}'}, "sesame\ud800"),
        ({"headers": {"Authorization": 7, "X-Token": "opensesame"}}, "opensesame"),
        ({"headers": {"Authorization": "Basic sésame"}}, "sésame"),
    ],
)
def test_a_secret_is_found_and_hidden(request_: dict[str, Any], secret: str) -> None:
    secrets = secrets_in([request_])
    assert hide(f"KeyError: '{secret}' in {secret}", secrets) == f"KeyError: '{HIDDEN}' in {HIDDEN}"


def test_a_refused_line_is_said_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    for line in (
        {"path": f"/a b?token={TOKEN}"},
        {"websocket": f"ws?token={TOKEN}"},
        {"headers": {"authorization": [f"Bearer {TOKEN}"]}},
        {"body": {"password": TOKEN}},
    ):
        file.write_text(f'{{"path": "/"}}\n{json.dumps(line)}\n')
        with pytest.raises(UsageError, match="line 2: ") as refused:
            read_requests_file(file)
        assert TOKEN not in str(refused.value)


def test_a_part_of_a_secret_is_hidden_where_a_text_was_cut_and_what_is_none_stays() -> None:
    secrets = secrets_in([{"headers": {"cookie": f"sid={TOKEN}; id=7"}}])
    for text, hidden in (
        (f"{TOKEN[3:]} was cut", f"{HIDDEN} was cut"),  # the end of what a server wrote is kept
        (f"no session {TOKEN[:-1]}", f"no session {HIDDEN}"),
        (f"is '{TOKEN[:6]}…, and '{TOKEN[:5]}…", f"is '{HIDDEN}…, and '{HIDDEN}…"),
        (f"key sess_{TOKEN}_1", f"key sess_{HIDDEN}_1"),
        (f"{TOKEN[-3:]} or {TOKEN[:3]}", f"{TOKEN[-3:]} or {TOKEN[:3]}"),
        ("got id=7 of 77 and 7", f"got {HIDDEN} of 77 and 7"),  # short ones beside their names
    ):
        assert hide(text, secrets) == hidden
    harmless = {
        "path": "/items?page=12345",
        "body": '{"name": "chair"}',
        "headers": {"Accept": "text/html"},
    }
    assert secrets_in([harmless]) == frozenset()


def test_a_record_keeps_its_figures_and_names() -> None:
    secrets = secrets_in([{"headers": {"cookie": "a=uvloop; b=12345"}}])
    record = {
        "loop": {"name": "uvloop"},
        "at_ns": 12345,
        "failure": {"error": "uvloop is not 12345", "traceback": None},
        "workers": [{"error_samples": ["status 500: 12345"]}],
    }
    found = json.loads(Hiding(secrets, ()).in_record(json.dumps(record).encode()))
    assert (found["loop"], found["at_ns"]) == ({"name": "uvloop"}, 12345)
    assert found["failure"]["error"] == f"{HIDDEN} is not {HIDDEN}"
    assert found["workers"] == [{"error_samples": [f"status 500: {HIDDEN}"]}]
    assert Hiding(secrets, ()).in_record(b"no record: 12345") == f"no record: {HIDDEN}".encode()
    untouched = b'{"at_ns": 1.50}'
    assert Hiding(secrets, ()).in_record(untouched) is untouched
