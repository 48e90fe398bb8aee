"""Bad input gets a line or two and exit code 2, before anything is sent."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.support.children import captured, environment
from workers.services.load.__main__ import main
from workers.services.load.coordinator import checked_instants
from workers.services.load.requests_list import read_requests
from workers.services.load.sequence import filled, needs_values, saved_names
from workers.services.load.targets import BadInputError, parse_target

pytestmark = pytest.mark.one_build

HERE = "http://127.0.0.1:9"


def in_two_lines(code: object, out: str, said: str) -> str:
    assert (code, out) == (2, "")
    assert said.count("\n") <= 2
    assert "Traceback" not in said
    return said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([HERE], "--rate"),
        ([HERE, "--rate=0"], "expected 0.01 to 1,000,000, got '0'; max is a closed loop"),
        ([HERE, "--rate=1", "--seconds=1e9"], "expected 0.1 to 3,600"),
        ([HERE, "--rate=1000000", "--seconds=3600"], "more than 50,000,000 requests"),
        ([HERE, "--rate=1", "--connections=2", "--processes=3"], "cannot share 2 connections"),
        ([HERE, HERE, "--rate=1", "--connections=1"], "at least as many connections"),
        ([HERE, "tcp://127.0.0.1:9", "--rate=1"], "cannot be mixed"),
        (["-", "--rate=1"], "- stands alone, and with --instants"),
        (["http://192.0.2.1/", "--rate=1"], "not on this machine; add --remote"),
        (
            [HERE, "--rate=1", "--overload", "0", "0", "1"],
            "FACTOR: expected 0.01 to 1,000, got '0'",
        ),
        ([HERE, "--rate=1", "--overload", "4", "6", "10"], "ends after 16 s: --seconds must be at"),
        ([HERE, "--rate=max", "--overload", "4", "2", "5"], "in a closed loop nothing is due"),
    ],
)
def test_a_bad_option_is_named(
    options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(options)
    assert reason in in_two_lines(ended.value.code, *capsys.readouterr())


def run(url: str, *options: str, driver: str | None = None, **variables: str) -> str:
    """What it says on standard error, in its own process; `driver` is its standard input."""
    command = [sys.executable, "-m", "workers.services.load", url, *options]
    done = captured(command, stdin=driver, **variables)
    return in_two_lines(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"urls": ["http://127.0.0.1:9"]}', 'expected a line {"urls": […], "requests": […]}'),
        (
            '{"urls": ["tcp://127.0.0.1:9"], "requests": [{}, {"path": 5}]}',
            "request 2: path must be a text, not 5",
        ),
    ],
)
def test_a_bad_line_of_a_driver_is_named(line: str, reason: str) -> None:
    assert reason in run("-", "--rate=1", "--instants", driver=line + "\n")


@pytest.mark.slow
def test_a_server_that_accepts_nothing_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        at = f"127.0.0.1:{server.getsockname()[1]}"
        assert "not accepted within 0.5 s" in run(f"http://{at}", "--rate=1", "--timeout=0.5")


def test_a_missing_parser_is_named(tmp_path: Path) -> None:
    (tmp_path / "httptools.py").write_text("raise ModuleNotFoundError(name='httptools')")
    paths = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = run(f"http://127.0.0.1:{server.getsockname()[1]}", "--rate=1", PYTHONPATH=paths)
    assert "httptools is not installed; get it with: pip install httptools uvloop" in said


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://127.0.0.1", "TLS is not supported"),
        ("127.0.0.1:80", "expected http://HOST"),
        ("http://[127.0.0.1/", "Invalid IPv6 URL"),
        ("tcp://127.0.0.1", "a tcp:// URL needs a port"),
        ("http://127.0.0.1:many", "expected a port from 1 to 65535"),
        ("http://127.0.0.1/größe", "percent-encode"),
        ("http://me@127.0.0.1/", "user name"),
        ("http://no.such.host.invalid/", "no such host"),
    ],
)
def test_a_bad_url_is_refused(url: str, reason: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_target(url, remote=True)
    assert reason in str(caught.value)


@pytest.mark.parametrize("host", ["127.3.2.1", "localhost", "[::1]"])
def test_addresses_of_this_machine_alone_need_no_permission(host: str) -> None:
    with pytest.raises(BadInputError, match="not on this machine"):
        parse_target("tcp://198.51.100.7:80", remote=False)
    assert parse_target("tcp://198.51.100.7:80", remote=True).address == "198.51.100.7"
    try:
        target = parse_target(f"http://{host}:8000/a?b=c", remote=False)
    except BadInputError:
        assert host == "[::1]"  # where IPv6 is off
        return
    assert (target.authority, target.port, target.path) == (f"{host}:8000", 8000, "/a?b=c")


GRAPHQL = {"body": "{me{name}}", "headers": {"a": "{b}"}}  # braces have no meaning
HEADERS = {"Content-Type": "text/json"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"path": "/a", "weight": 3}\n\n{"status": 204}\n', [{"path": "/a", "weight": 3},
            {"status": 204, "line": 3}]),
        ('\ufeff{"path": "/a"}\r\n{"path": "/b"}\r\n', [{"path": "/a"},
            {"path": "/b", "line": 2}]),  # as editors on Windows write it
        ('\ufeff\r\n{"path": "/b"}\r\n', [{"path": "/b", "line": 2}]),
        ('{"json": {"id": 1}}', [{"headers": {"content-type": "application/json"},
            "body": '{"id": 1}'}]),
        (json.dumps({"json": None, "headers": HEADERS}), [{"headers": HEADERS, "body": "null"}]),
        (json.dumps(GRAPHQL), [GRAPHQL]),
    ],
)  # fmt: skip
def test_a_list_of_requests_is_read(
    text: str, read: list[dict[str, object]], tmp_path: Path
) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(text.encode())
    found = [request.document() for request in read_requests(str(file))]
    assert found == [{"line": 1, **each} for each in read]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ('{"pfad": "/"}', "unknown key 'pfad'"),
        ('{"weight": 0}', "not above 0"),
        ('{"weight": 1%s}' % ("0" * 400), "too large"),
        ("[" * 100_000, "nested too deeply"),
        ('{"body": "\\ud800"}', "half of a surrogate pair"),
        ('{"path": "/a b"}', "must begin with /"),
        ('{"method": "CONNECT"}', "not supported"),
        ('{"headers": {"A": 1}}', "header A must be a text, not 1"),
        ('{"headers": {"A": "b\\r\\nC: d"}}', "no line breaks"),
        ('{"headers": {"Content-Length": "5"}}', "set by the generator"),
        ('{"headers": {"Connection": "upgrade"}}', "leave it out unless it is close or keep-alive"),
        ('{"headers": {"transfer-encoding": "gzip"}}', "leave it out unless it is chunked"),
        ('{"path": "/a", "path": "/b"}', "the key 'path' is there twice"),
        ('{"path": "/docs#top"}', "what follows # is never sent; leave it out"),
        ('\ufeff{"path": "/"}', "not JSON"),  # a mark in the middle of a file is none
        ('{"status": 99}', "not from 200 to 599"),
        ('{"body": {}}', 'body must be a text, not an object; "json" takes objects and lists'),
        ('{"body": "", "json": 1}', "body and json exclude each other"),
        ('{"line": 3}', "unknown key 'line'"),
        ('{"save": {"a-b": "/x"}}', "'a-b' is not a name of letters, digits and _"),
        (
            '{"save": {"a": "x"}}',
            "a must be a JSON pointer such as /token, header:NAME or coo",
        ),
        ('{"send": ["a"]}', 'send needs "websocket", the path of one'),
        ('{"websocket": "/ws", "path": "/"}', "websocket and path exclude each other"),
        ('{"websocket": "/ws", "receive": true}', "receive must be a whole number or a list"),
        ('{"path": "/items/{id}"}', "{id}: no request before it has \"save\" with 'id'"),
        ('{"save": {"a": "/a"}, "weight": 2}', "weight: requests are sent in order where one has"),
        ('{"save": {"a": "/a"}, "background": true}', "background: requests are sent in order"),
        ('{"save": {"a": "/a"}, "headers": {"b": "{b}"}}', '{b}: no request before it has "save"'),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text('{"path": "/"}\n' + line + "\n")
    with pytest.raises(BadInputError) as caught:
        read_requests(str(file))
    assert str(caught.value).startswith(f"{file}, line 2: ")
    assert reason in str(caught.value)


def test_in_bodies_names_that_are_saved_alone_have_a_meaning(tmp_path: Path) -> None:
    body = "{ me {id} as {token} }"
    file = tmp_path / "requests.jsonl"
    first = {"method": "POST", "body": "{ me {id} }", "save": {"token": "/token"}}
    second = {"method": "POST", "body": body}
    talk = {"websocket": "/", "send": ["{id}"]}
    file.write_text("\n".join(map(json.dumps, (first, second, talk))))
    requests = read_requests(str(file))
    names = saved_names(requests)
    assert [needs_values(each, names) for each in requests] == [False, True, False]
    assert filled(requests[1], {"token": "abc"}).body == "{ me {id} as abc }"


def test_a_list_must_hold_something(tmp_path: Path) -> None:
    file = tmp_path / "list"
    for data, says in ((b"\n", "no requests"), (b"\xff\xfe", "list, line 1: not UTF-8")):
        file.write_bytes(data)
        with pytest.raises(BadInputError, match=says):
            read_requests(str(file))


def test_what_follows_must_be_sent_over_http(tmp_path: Path) -> None:
    (tmp_path / "list").write_text('{"websocket": "/ws"}')
    said = run("tcp://127.0.0.1:9", "--rate=1", f"--requests={tmp_path / 'list'}")
    assert "tcp://127.0.0.1:9: websocket and save need an http:// URL" in said


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "expected a line"),
        (b'{"instants_ns": [5]}', "expected a line"),
        (b'{"instants_ns": [7, 5]}', "expected a line"),
        (b'{"instants_ns": [5, 7]}', "has passed"),
    ],
)
def test_bad_instants_are_named(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_instants(json.loads(line or b"null"))
