"""`scaling app` on real builds: an application is checked, measured and answered for."""

import json
from pathlib import Path

import pytest

from scaling.base.console import new_console
from scaling.cli.app_steps import AppSteps
from scaling.run.measure import ChildNeeds
from scaling.study.application import AppAsked
from tests.support.app_checks import hurry
from tests.support.cli import Command

pytestmark = pytest.mark.slow

APPLICATION = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})
"""


@pytest.mark.usefixtures("undrawn", "hurried")
def test_it_is_checked_measured_and_answered_for(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # That it is measured with both allocators is tested on the plan.
    monkeypatch.setattr("scaling.study.application.ALLOCATORS", ("",))
    hurry(monkeypatch)
    (tmp_path / "shop.py").write_text(APPLICATION)
    (tmp_path / "requests.jsonl").write_text('{"path": "/a"}\n{"path": "/b"}\n')
    done = command(
        *("app", "shop:app", "--path", ".", "--lifespan", "off"),
        *("--requests", "requests.jsonl", "--rate", "200", "--workers", "1"),
        *("--blocks", "1", "--seconds", "0.2", "--json", "--output", "out"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["configurations"]) == 3
    assert document["ship"]["throughput"]["verdict"] == "inconclusive"
    assert document["check"]["findings"] == []
    assert "6 cells" in done.stderr
    head = json.loads((tmp_path / "out" / "journal.jsonl").read_text().splitlines()[0])
    assert head["study"]["application"]["requests"]["count"] == 2


REFUSING = """
import sys
async def app(scope, receive, send):
    status = 500 if "hypercorn" in sys.modules else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})
"""


def test_other_servers_that_are_not_there_or_do_not_serve_it_are_left_out_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop.py").write_text(REFUSING)
    steps = AppSteps(
        asked=AppAsked(application="shop:app", lifespan="off", full=True),
        needs=ChildNeeds(paths=[str(tmp_path)], requirements=("hypercorn==0.18.0",)),
        flags={},
        requests=[{"path": "/"}],
        console=new_console(),
        errors=new_console(stderr=True),
    ).known()
    assert steps.asked.servers == ("uvicorn", "hypercorn")
    assert steps.with_servers_that_serve().asked.servers == ("uvicorn",)
    said = " ".join(capsys.readouterr().err.split())
    assert "granian is not measured: it is not installed (--with granian)" in said
    assert "pounce is not measured: it is not installed (--with bengal-pounce)" in said
    assert "hypercorn is not measured: on 3.14: 100 % of the requests failed (status 500)" in said
