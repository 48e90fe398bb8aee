"""What an application is, is found out where it will run; what cannot be loaded needs no trial."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.run import application_trial
from scaling.run.application_trial import interface_of
from tests.support.children import environment

ASGI = "async def app(scope, receive, send): ...\n"


def found(folder: Path, application: str, module: str, **asked: Any) -> str:
    (folder / "shop.py").write_text(module)
    parameters = {"application": application, "factory": False, "interface": "auto", "budgets": ""}
    cell: Any = SimpleNamespace(arm="3.14t", parameters=parameters | asked)
    arm: Any = SimpleNamespace(program=sys.executable, environment=environment(folder))
    ready: Any = SimpleNamespace(plan=SimpleNamespace(cells=[cell]), arms={"3.14t": arm})
    return interface_of(ready)


def test_its_interface_is_found_whatever_it_prints(tmp_path: Path) -> None:
    assert found(tmp_path, "shop:app", ASGI + "print('hello')") == "asgi"


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import nothere", "shop imports 'nothere', which is not installed"),
        ("raise ValueError('no key')", "shop cannot be imported: ValueError: no key"),
        ("async def apt(scope, receive, send): ...", "did you mean apt"),
        ("def app(): ...", "add --factory"),
    ],
)
def test_why_it_cannot_be_loaded_is_said(tmp_path: Path, module: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"shop:app on 3.14t: .*{why}"):
        found(tmp_path, "shop:app", module)


def test_its_share_is_there_as_in_a_run(tmp_path: Path) -> None:
    module = f"import os\nassert os.environ['SCALING_BUDGET_DB'] == '8'\n{ASGI}"
    assert found(tmp_path, "shop:app", module, budgets="db=8") == "asgi"


def test_a_crash_is_left_to_the_trial(tmp_path: Path) -> None:
    assert found(tmp_path, "shop:app", "import os\nos._exit(3)") == ""


@pytest.mark.slow
def test_an_import_that_never_ends_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application_trial, "FIND_OUT_S", 1.0)
    with pytest.raises(UsageError, match="importing it took more than 1 s"):
        found(tmp_path, "shop:app", "import time\ntime.sleep(600)")
