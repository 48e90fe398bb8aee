"""`check_application` finds what only one process keeps, and nothing that all of them have.

That threads keep it is shown by section 10 of the page on N loops. Other models are in
`test_a_check_follows_sequences.py`, and both are simulated in the tests of the analysis.
"""

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
NAMED = [{"method": "PUT", "path": "/ada"}, {"path": "/names"}]
EVERY = [
    *ADDED,
    *({"path": "/counter"}, {"path": "/limit"}),
    *({"method": "POST", "path": "/signed/ada"}, {"path": "/signed"}),
    *({"method": "PUT", "path": "/uploaded/a"}, {"path": "/uploaded/a"}),
]


def checked(name: str, requests: Sequence[dict[str, Any]], folder: Path, **asked: Any) -> AppCheck:
    """A check of processes alone; `folder` is where the application keeps its files."""
    asked = {"workers": (), "variables": {"STATE_FOLDER": str(folder)}, **asked}
    return check(f"faults.{name}", requests, **asked)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "requests", "models", "words"),
    [
        (
            *("raising", ADDED, ("mixed:2",)),
            r"In fresh processes of 2 threads `GET /rows/a` is answered 500.*; KeyError: .a",
        ),
        (  # a key that is made at import breaks fresh processes alone
            *("signed", LOGGED_IN, PROCESSES),
            "In fresh processes `GET /me` is answered 401, not 200.*forked processes keep it",
        ),
    ],
)
def test_what_one_process_keeps_is_found(
    name: str,
    requests: list[dict[str, Any]],
    models: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "ROUNDS", 1)  # nothing differs by chance: it is tried again once
    result = checked(f"kept_in_process:asgi.{name}", requests, tmp_path, alone=1, models=models)
    (found,) = result.findings
    assert (found.kind, found.models, result.ok) == ("state-in-process", models[:1], False)
    assert re.search(words, f"{found.message} {found.remedy}")


def test_what_each_loop_keeps_is_lost_by_threads_too_where_it_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "ROUNDS", 1)
    asked: dict[str, Any] = {"alone": 1, "firsts": 0, "together_s": 0.05, "factory": True}
    asked |= {"workers": (2,), "models": ("processes",)}
    result = checked("own_data:create_app", NAMED, tmp_path, **asked)
    found = {each.kind: each for each in result.findings}
    assert found.keys() == {"differs", "state-in-process"}
    assert found["differs"].request == "GET /names"
    assert "body has length 0, and length 1 at N = 1" in found["differs"].message
    assert found["state-in-process"].models == ("processes", "threads")
    assert "this state lives in one worker" in found["state-in-process"].message


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(20))
def test_twenty_checks_of_what_all_processes_have_find_nothing(number: int, tmp_path: Path) -> None:
    asked = {"models": PROCESSES, "workers": (2,), "together_s": 0.3, "firsts": 1}
    interface = "asgi" if number % 2 else "wsgi"
    result = checked(f"kept_outside:{interface}.every", EVERY, tmp_path, **asked)
    assert result.findings == []
    assert result.models == ("threads", "processes", "forked")
