"""Memory is read from outside while a deployed application is under load, until a leak's limit."""

import contextlib
from pathlib import Path

import pytest

from scaling.journal.soak import SoakRecord
from scaling.run.deployed import Served
from scaling.run.soak import MIB, PARTS, soak
from tests.support import serving
from tests.workers.test_faults_are_measured_on_what_is_deployed import APPLICATIONS, configuration

pytestmark = pytest.mark.slow

RATE = 200.0
KEEP = "kept.append(bytearray(os.urandom(1 << 20)))"
LEAK = f"""
import signal, os
kept = []
async def app(scope, receive, send):
    assert scope["type"] == "http"
    if scope["path"] == "/":
        {KEEP}
    headers = [(b"content-length", b"2")]
    await send(dict(type="http.response.start", status=200, headers=headers))
    await send(dict(type="http.response.body", body=b"ok"))
"""


def watched(folder: Path, monkeypatch: pytest.MonkeyPatch, application: str) -> SoakRecord:
    monkeypatch.setitem(APPLICATIONS, "asgi", application)
    with contextlib.closing(Served(configuration(folder, "threads"))) as served:
        return soak(served, serving.program(), RATE, duration_s=4.0, limit_bytes=300 * MIB)


def test_every_part_has_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(tmp_path, monkeypatch, APPLICATIONS["asgi"])
    assert len(found.memory_mib) == PARTS
    assert all(10 < each < 300 for each in found.memory_mib)
    assert found.requests
    assert (found.errors, found.ended) == (0, "")


def test_a_leak_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(tmp_path, monkeypatch, LEAK)
    assert found.ended == "stopped at the memory limit of 300 MiB"
    assert found.requests is None
    assert 1 < len(found.memory_mib) < PARTS
    assert found.memory_mib[-1] > found.memory_mib[0]


def test_a_server_that_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = "kept.append(1 if len(kept) < 20 else os.kill(os.getpid(), signal.SIGKILL))"
    found = watched(tmp_path, monkeypatch, LEAK.replace(KEEP, crash))
    assert found.ended == "ended by signal 9"
