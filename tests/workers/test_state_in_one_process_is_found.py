"""`check_application` finds what only one process keeps, and nothing that all of them have."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scaling.base.models import PROCESSES
from scaling.journal.check_file import AppCheck
from scaling.run.check import state
from tests.support.app_checks import check

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

ADDED = [{"method": "POST", "path": "/rows/a"}, {"path": "/rows/a"}]
LOGGED_IN = [{"method": "POST", "path": "/login/ada"}, {"path": "/me"}]
PRICES = [
    *({"method": "PUT", "path": "/price/1"}, {"path": "/price"}),
    *({"method": "PUT", "path": "/price/2"}, {"path": "/price"}),
]
EVERY = [
    *ADDED,
    *({"path": "/counter"}, {"path": "/limit"}),
    *({"method": "POST", "path": "/signed/ada"}, {"path": "/signed"}),
    *({"method": "PUT", "path": "/uploaded/a"}, {"path": "/uploaded/a"}),
]


@pytest.fixture
def folder(tmp_path: Path) -> dict[str, str]:
    """Where an application keeps its files: a variable of it."""
    (tmp_path / "price").write_text("0")
    return {"STATE_FOLDER": str(tmp_path)}


def checked(
    name: str, requests: Sequence[dict[str, Any]], variables: dict[str, str], **asked: Any
) -> AppCheck:
    """A check of processes alone."""
    asked = {"models": PROCESSES, "workers": (), **asked}
    return check(f"faults.{name}", requests, variables=variables, **asked)


@pytest.fixture
def by_no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing differs by chance: it is tried again once."""
    monkeypatch.setattr(state, "ROUNDS", 1)


@pytest.mark.usefixtures("by_no_chance")
@pytest.mark.parametrize(
    ("name", "requests", "models", "words"),
    [
        (
            *("asgi.raising", ADDED, ("forked",)),
            r"is answered 500, not 200: .*; KeyError: 'a' \(kept_in_process.py, line \d+",
        ),
        ("asgi.counter", [{}], ("mixed:2",), "In fresh processes of 2 threads `GET /` is answered"),
        ("asgi.cached", PRICES, ("forked",), '`GET /price` is answered with body "(1|2)", not'),
    ],
)
def test_what_one_process_keeps_is_found(
    name: str,
    requests: list[dict[str, Any]],
    models: tuple[str, ...],
    words: str,
    folder: dict[str, str],
) -> None:
    result = checked(f"kept_in_process:{name}", requests, folder, alone=1, models=models)
    (found,) = result.findings
    assert (found.kind, found.models, result.ok) == ("state-in-process", models, False)
    assert re.search(words, found.message)
    assert found.remedy


@pytest.mark.usefixtures("by_no_chance")
def test_a_key_that_is_made_at_import_breaks_fresh_processes_alone(folder: dict[str, str]) -> None:
    result = checked("kept_in_process:asgi.signed", LOGGED_IN, folder, alone=1)
    (found,) = result.findings
    assert (found.models, result.models) == (("processes",), PROCESSES)
    assert "In fresh processes `GET /me` is answered 401, not 200" in found.message
    assert "forked processes keep it" in found.remedy


@pytest.mark.usefixtures("by_no_chance")
def test_threads_keep_it_and_have_no_finding(folder: dict[str, str]) -> None:
    asked = {"workers": (2,), "together_s": 0.1, "firsts": 1, "alone": 1}
    result = checked("kept_in_process:wsgi.dictionary", ADDED, folder, **asked)
    (found,) = result.findings
    assert found.kind == "state-in-process"
    assert found.message == (
        "In processes `GET /rows/a` is answered 404, not 200: this state lives in one process"
    )
    assert result.models == ("threads", "processes", "forked")
    assert result.wrong_models == ["processes", "forked"]
    assert found.remedy.startswith("Threads keep it")


@pytest.mark.usefixtures("by_no_chance")
def test_what_each_loop_keeps_is_lost_by_threads_too(folder: dict[str, str]) -> None:
    requests = [{"method": "PUT", "path": "/ada"}, {"path": "/names"}]
    asked = {"factory": True, "models": ("processes",), "alone": 1}
    result = checked("own_data:create_app", requests, folder, **asked)
    (found,) = result.findings
    assert found.models == ("processes", "threads")
    assert "this state lives in one worker" in found.message


def test_what_all_processes_have_is_no_finding(folder: dict[str, str]) -> None:
    """Of ASGI, too, in `test_a_check_follows_sequences.py`."""
    sound("wsgi", folder)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(20))
def test_twenty_checks_of_what_all_processes_have_find_nothing(
    number: int, folder: dict[str, str]
) -> None:
    sound("asgi" if number % 2 else "wsgi", folder)


def sound(interface: str, folder: dict[str, str]) -> None:
    asked = {"workers": (2,), "together_s": 0.3, "firsts": 1}
    result = checked(f"kept_outside:{interface}.every", EVERY, folder, **asked)
    assert result.findings == []
    assert result.models == ("threads", "processes", "forked")
