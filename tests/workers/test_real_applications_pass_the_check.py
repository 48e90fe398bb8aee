"""The published applications answer on several loops as on one: made by a factory, or shared."""

import json

import pytest

from tests.support.app_checks import APPLICATIONS, check

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("factory", [True, False], ids=["factory", "object"])
@pytest.mark.parametrize("name", ["fastapi_shop", "starlette_pages", "flask_ledger"])
def test_answers_are_those_of_one_loop(name: str, factory: bool) -> None:
    lines = (APPLICATIONS / name / "requests.jsonl").read_text().splitlines()
    application = f"{name}.main:{'create_app' if factory else 'app'}"
    found = check(application, [json.loads(each) for each in lines], factory=factory)
    assert found.findings == []
