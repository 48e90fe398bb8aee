"""Checks applications of `tests/applications` by the interpreter that runs the tests."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.beside import AppCheck
from scaling.run import app_check
from scaling.run.child import Child
from tests.support.children import ROOT, environment

APPLICATIONS = ROOT / "tests" / "applications"
TOGETHER_S = 0.5


def check(
    application: str,
    requests: Sequence[Mapping[str, Any]] = ({"path": "/stock"},),
    *folders: Path,
    workers: Sequence[int] = (2,),
    alone: int = app_check.ALONE,
    firsts: int = 1,
    together_s: float = TOGETHER_S,
    answer_s: float = app_check.ANSWER_S,
    **parameters: Any,
) -> AppCheck:
    """Check an application; requests are sent at once for less long than for a user.

    Where answers do not change by themselves, one run `alone` is enough; where nothing is built at
    the first request, none of `firsts` is needed. Requests are sent at once for `together_s`: a
    moment is enough where it does not matter which of them meet. An answer may take `answer_s`.
    """
    child = Child(sys.executable, environment(APPLICATIONS, *folders))
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, alone, firsts, together_s)
        patch.setattr(app_check, "ANSWER_S", answer_s)
        asked = {"application": application, **parameters}
        return app_check.check_application(child, asked, requests, workers=workers)


def hurry(
    patch: pytest.MonkeyPatch, alone: int = 1, firsts: int = 1, together_s: float = TOGETHER_S
) -> None:
    """Have checks send for a short time, in so many runs at N = 1 and of first requests."""
    for name, value in {
        "ALONE": alone,
        "FIRSTS": firsts,
        "ALONE_S": 0.1,
        "TOGETHER_S": together_s,
    }.items():
        patch.setattr(app_check, name, value)
