"""Checks applications of `tests/applications` by the interpreter that runs the tests."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.check_file import AppCheck
from scaling.run.check import application, client, one_loop
from scaling.run.check.application import check_application
from scaling.run.child import Child
from tests.support.children import ROOT, environment

APPLICATIONS = ROOT / "tests" / "applications"
TOGETHER_S = 0.5


def check(
    name: str,
    requests: Sequence[Mapping[str, Any]] = ({"path": "/stock"},),
    *folders: Path,
    workers: Sequence[int] = (2,),
    models: Sequence[str] = (),
    alone: int = one_loop.ALONE,
    firsts: int = 1,
    together_s: float = TOGETHER_S,
    answer_s: float = client.ANSWER_S,
    variables: Mapping[str, str] | None = None,
    **parameters: Any,
) -> AppCheck:
    """Check an application; requests are sent at once for less long than for a user.

    Where answers do not change by themselves, one run `alone` is enough; where nothing is built at
    the first request, none of `firsts` is needed. Requests are sent at once for `together_s`: a
    moment is enough where it does not matter which of them meet. An answer may take `answer_s`.
    Processes are looked at only in these `models`. The application has these `variables`.
    """
    child = Child(sys.executable, environment(APPLICATIONS, *folders, **(variables or {})))
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, alone, firsts, together_s)
        patch.setattr(client, "ANSWER_S", answer_s)
        asked = {"application": name, **parameters}
        return check_application(child, asked, requests, workers=workers, models=models)


def hurry(
    patch: pytest.MonkeyPatch, alone: int = 1, firsts: int = 1, together_s: float = TOGETHER_S
) -> None:
    """Have checks send for a short time, in so many runs at N = 1 and of first requests."""
    patch.setattr(one_loop, "ALONE", alone)
    patch.setattr(one_loop, "ALONE_S", 0.1)
    patch.setattr(application, "FIRSTS", firsts)
    patch.setattr(application, "TOGETHER_S", together_s)
