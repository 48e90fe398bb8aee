"""Requests come from an application's own schema, and what it says of them names no secret."""

import sys
from pathlib import Path

import pytest

from scaling.journal.record import ParameterValue
from scaling.run.app_check import AppCheckError, answers_of
from scaling.run.child import Child
from scaling.run.openapi import PLACES, requests_in_schema, schema_in
from tests.support.app_checks import APPLICATIONS, check
from tests.support.children import environment

pytestmark = pytest.mark.slow

TOKEN = "b3c4-open-sesame"
REPEATS = """
async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        raise NotImplementedError
    cookie = dict(scope["headers"])[b"cookie"].decode()
    raise LookupError(f"no session {cookie}, {scope['query_string']}")
"""


def test_the_schema_of_a_service_gives_what_can_be_asked() -> None:
    child = Child(sys.executable, environment(APPLICATIONS))
    asked: dict[str, ParameterValue] = {"application": "fastapi_shop.main:create_app"}
    asked["factory"] = True
    answers = answers_of(child, asked, [{"path": each} for each in PLACES])
    requests, notes = requests_in_schema(schema_in([each.body for each in answers]))
    assert {"path": "/health"} in requests
    assert {"path": "/items"} in requests
    assert any(line.startswith("left out, not GET: POST ") for line in notes)
    assert check("fastapi_shop.main:create_app", requests, alone=1, workers=(), factory=True).ok


def test_what_an_application_says_of_a_request_has_no_secret_in_it(tmp_path: Path) -> None:
    (tmp_path / "repeats.py").write_text(REPEATS)
    request = {"path": f"/?token={TOKEN}", "headers": {"cookie": f"sid={TOKEN}"}}
    with pytest.raises(AppCheckError) as said:
        check("repeats:application", [request], tmp_path, alone=1, workers=())
    assert TOKEN not in str(said.value)
    assert "GET /?token=(hidden) is answered with status 500" in str(said.value)
    assert "no session sid=(hidden)" in str(said.value)
