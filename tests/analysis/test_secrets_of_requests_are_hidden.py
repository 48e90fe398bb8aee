"""Cookies and tokens that a user's requests have are sent, and never written down."""

import json
from typing import Any

import pytest

from scaling.run.redaction import HIDDEN, hide, hide_in_record, secrets_in

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
    ],
)
def test_a_secret_is_found_and_hidden(request_: dict[str, Any], secret: str) -> None:
    secrets = secrets_in([request_])
    assert hide(f"KeyError: '{secret}' in {secret}", secrets) == f"KeyError: '{HIDDEN}' in {HIDDEN}"


def test_a_short_value_is_hidden_beside_its_name() -> None:
    secrets = secrets_in([{"headers": {"cookie": "id=7; long=value-1"}}])
    assert hide("got id=7 of 77 and 7", secrets) == f"got {HIDDEN} of 77 and 7"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"{TOKEN[3:]} was cut", f"{HIDDEN} was cut"),  # the end of what a server wrote is kept
        (f"no session {TOKEN[:-1]}", f"no session {HIDDEN}"),
        (f"is '{TOKEN[:6]}…, and '{TOKEN[:5]}…", f"is '{HIDDEN}…, and '{HIDDEN}…"),
        (f"key sess_{TOKEN}_1", f"key sess_{HIDDEN}_1"),
        (f"{TOKEN[-3:]} or {TOKEN[:3]}", f"{TOKEN[-3:]} or {TOKEN[:3]}"),
    ],
)
def test_a_part_of_a_secret_is_hidden_where_a_text_was_cut(text: str, hidden: str) -> None:
    assert hide(text, secrets_in([{"headers": {"cookie": f"sid={TOKEN}"}}])) == hidden


def test_what_is_no_secret_stays() -> None:
    request = {
        "path": "/items?page=12345",
        "body": '{"name": "chair"}',
        "headers": {"Accept": "text/html"},
    }
    assert secrets_in([request]) == frozenset()


def test_a_record_keeps_its_figures_and_names() -> None:
    secrets = secrets_in([{"headers": {"cookie": "a=uvloop; b=12345"}}])
    record = {
        "loop": {"name": "uvloop"},
        "at_ns": 12345,
        "failure": {"error": "uvloop is not 12345", "traceback": None},
        "workers": [{"error_samples": ["status 500: 12345"]}],
    }
    found = json.loads(hide_in_record(json.dumps(record).encode(), secrets))
    assert (found["loop"], found["at_ns"]) == ({"name": "uvloop"}, 12345)
    assert found["failure"]["error"] == f"{HIDDEN} is not {HIDDEN}"
    assert found["workers"] == [{"error_samples": [f"status 500: {HIDDEN}"]}]
    assert hide_in_record(b"no record: 12345", secrets) == f"no record: {HIDDEN}".encode()
    untouched = b'{"at_ns": 1.50}'
    assert hide_in_record(untouched, secrets) is untouched
