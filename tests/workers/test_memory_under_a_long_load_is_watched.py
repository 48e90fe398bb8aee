"""Memory is read from outside while a deployed application is under load, until a leak's limit."""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from scaling.journal.beside import SoakRecord
from scaling.run import soak as soak_module
from scaling.run.deployed import Served
from scaling.run.soak import MIB, PARTS, soak
from tests.support import serving
from tests.workers.test_faults_are_measured_on_what_is_deployed import APPLICATIONS, configuration

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

RATE = 200.0
ENDS_LONG_BEFORE_S = 12.0  # however slow a machine is
KEEP = "kept.append(bytearray(b'x') * (1 << 20))"
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


def watched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, application: str, duration_s: float
) -> SoakRecord:
    monkeypatch.setitem(APPLICATIONS, "asgi", application)
    with contextlib.closing(Served(configuration(folder, "threads"))) as served:
        return soak(served, serving.program(), RATE, duration_s, limit_bytes=300 * MIB)


def test_every_part_has_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(tmp_path, monkeypatch, APPLICATIONS["asgi"], duration_s=4.0)
    assert len(found.memory_mib) == PARTS
    assert all(each is not None and 10 < each < 300 for each in found.memory_mib)
    assert found.requests
    assert (found.errors, found.ended) == (0, "")


def test_a_reading_without_pss_is_left_out_where_others_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RSS in its place would be a step of memory that nobody used."""
    readings = iter([(30, 10), (30, None), (34, 12)])

    def full_memory(_: object) -> dict[str, int | None]:
        rss, pss = next(readings)
        return {"rss": rss << 20, "pss": None if pss is None else pss << 20}

    monkeypatch.setattr(soak_module, "full_memory", full_memory)
    server = SimpleNamespace(exit_code=None, pid=os.getpid())
    watched = soak_module._Watched(cast("Served", server), limit_bytes=1e12)
    assert [watched._read() for _ in range(3)] == [[10.0], [], [12.0]]
    assert watched.kind == "PSS"


def test_a_leak_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(tmp_path, monkeypatch, LEAK, ENDS_LONG_BEFORE_S)
    assert found.ended == "stopped at the memory limit of 300 MiB"
    assert found.requests is None
    memory = [each for each in found.memory_mib if each is not None]
    assert 0 < len(memory) < PARTS  # how many depends on how fast it leaks
    assert memory[-1] >= memory[0]


def test_a_server_that_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = "kept.append(1 if len(kept) < 20 else os.kill(os.getpid(), signal.SIGKILL))"
    found = watched(tmp_path, monkeypatch, LEAK.replace(KEEP, crash), ENDS_LONG_BEFORE_S)
    assert found.ended == "ended by signal 9"
