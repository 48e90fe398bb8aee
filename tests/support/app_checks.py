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


def check(
    application: str,
    requests: Sequence[Mapping[str, Any]] = ({"path": "/stock"},),
    *folders: Path,
    workers: Sequence[int] = (2,),
    alone: int = app_check.ALONE,
    firsts: int = 1,
    **parameters: Any,
) -> AppCheck:
    """Check an application; requests are sent at once for less long than for a user.

    Where answers do not change by themselves, one run `alone` is enough; where nothing is built at
    the first request, none of `firsts` is needed.
    """
    child = Child(sys.executable, environment(APPLICATIONS, *folders))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_check, "ALONE", alone)
        patch.setattr(app_check, "FIRSTS", firsts)
        patch.setattr(app_check, "ALONE_S", 0.1)
        patch.setattr(app_check, "TOGETHER_S", 0.5)
        asked = {"application": application, **parameters}
        return app_check.check_application(child, asked, requests, workers=workers)
