"""Faults are caused in servers as they are deployed: by serve.py and by `uvicorn --workers`."""

import contextlib
import json
import os
import sys
from pathlib import Path

import pytest

from scaling.base.errors import ScalingError
from scaling.journal.faults import FaultRecord
from scaling.report.deploy.write import TEMPLATE
from scaling.run import app_faults
from scaling.run.app_faults import FAULTS, WORKERS, Deployed, Served
from tests.support.children import ROOT

pytestmark = pytest.mark.slow

APPLICATION = """
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})
"""
COMMANDS = {
    "threads": (sys.executable, str(TEMPLATE)),
    "processes": (sys.executable, "-m", "uvicorn"),
}


def measured(folder: Path, model: str, fault: str) -> FaultRecord:
    (folder / "shop.py").write_text(APPLICATION)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
        "SCALING_FAULTY": json.dumps(("shop:app", False)),
    }
    command = (*COMMANDS[model], app_faults.FAULTY, "--factory", "--workers", str(WORKERS))
    served = Served(Deployed("an arm", model, "a server", command, environment))
    with contextlib.closing(served):
        requests = [{"path": "/"}]
        return app_faults.measured(served, fault, FAULTS[fault], requests, 100.0)


@pytest.mark.parametrize("model", COMMANDS)
def test_only_requests_of_a_blocked_loop_wait(tmp_path: Path, model: str) -> None:
    fault = measured(tmp_path, model, "one loop blocked for 1 s")
    assert fault.own_max_ms
    assert fault.others_max_ms
    assert fault.own_max_ms > max(900, fault.others_max_ms)
    assert (fault.lost, fault.refused) == (0, 0)


def test_threads_that_crash_are_gone_together_until_they_are_started_again(tmp_path: Path) -> None:
    fault = measured(tmp_path, "threads", "one worker killed")
    assert fault.lost + fault.refused
    assert fault.back_s


def test_a_restart_of_threads_loses_no_request(tmp_path: Path) -> None:
    fault = measured(tmp_path, "threads", "graceful restart")
    assert (fault.lost, fault.refused) == (0, 0)


def test_a_restart_that_changes_nothing_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "restart", lambda _: None)
    with pytest.raises(ScalingError, match="old workers"):
        measured(tmp_path, "threads", "graceful restart")
