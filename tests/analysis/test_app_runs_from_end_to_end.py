"""`scaling app` on real builds: an application is checked, measured and answered for."""

import json
from pathlib import Path

import pytest

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
