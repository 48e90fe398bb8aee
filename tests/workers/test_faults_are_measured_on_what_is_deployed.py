"""Faults, and a long load, on servers as they are deployed: by serve.py, uvicorn and gunicorn."""

import contextlib
import os
import statistics
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scaling.base.errors import ScalingError
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.beside import FaultRecord, SoakRecord
from scaling.report.deploy.commands import PROGRAMS
from scaling.run import faults_and_soak
from scaling.run.deployed import (
    AWAY_S,
    BLOCK,
    WHO,
    WORKERS,
    Deployed,
    Served,
    ask,
    connection,
    deployed,
    have,
)
from scaling.run.faults_and_soak import FAULTS, PARTS, soak
from scaling.study.application import COMMANDS
from tests.support import serving
from tests.support.children import MIB, ROOT
from tests.support.deployed import SHOP
from tests.support.descriptions import description
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

OF_AIOHTTP = """
    def of_aiohttp():
        from aiohttp import web

        async def answer(request):
            return web.Response(text="ok")

        made = web.Application()
        made.router.add_get("/", answer)
        return made
"""
NAMES = {"asgi": "shop:app", "wsgi": "shop:wsgi", "aiohttp": "shop:of_aiohttp"}
CONFIGURATIONS = [(interface, model) for interface in COMMANDS for model in COMMANDS[interface]]


def configuration(
    folder: Path, model: str, interface: str = "asgi", shop: str = SHOP + OF_AIOHTTP
) -> Deployed:
    (folder / "shop.py").write_text(textwrap.dedent(shop))
    path = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    arm = PreparedArm(parse_arm("3.14"), sys.executable, path, description(), "PATH")
    application = NAMES[interface], interface == "aiohttp"
    (found,) = deployed({model: arm}, application, interface, PROGRAMS.get(interface))
    return found


def measured(folder: Path, model: str, fault: str, interface: str = "asgi") -> FaultRecord:
    served = Served(configuration(folder, model, interface))
    with contextlib.closing(served):
        requests = [{"path": "/"}]
        return faults_and_soak.measured(served, fault, FAULTS[fault], requests, 100.0)


def names_of(served: Served) -> set[str]:
    """As many workers as a client can tell apart: all must be there.

    Who has answered is blocked for a moment, so that another one answers the next request.
    """
    names: set[str] = set()
    with contextlib.ExitStack() as opened:

        def all_answered() -> bool:
            made = opened.enter_context(contextlib.closing(connection(served.port)))
            names.add(ask(made, WHO))
            made.request("GET", BLOCK.format(AWAY_S))
            return len(names) == served.deployed.apart

        wait_until(all_answered)
    return names


@pytest.mark.one_build
@pytest.mark.parametrize(("interface", "model"), CONFIGURATIONS)
def test_every_configuration_has_its_workers_and_ends(
    tmp_path: Path, interface: str, model: str
) -> None:
    found = configuration(tmp_path, model, interface)
    served = Served(found)
    with contextlib.closing(served):
        names = names_of(served)
        assert len(names) == (1 if (interface, model) == ("wsgi", "threads") else 2)
        assert {have(served.port, WHO) for _ in range(20)} <= names
        assert have(served.port, "/") == "ok"
    assert have(served.port, WHO) == ""


@pytest.mark.one_build
def test_a_server_that_does_not_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    found = configuration(tmp_path, "forked")  # without it, workers are started again and again
    (tmp_path / "shop.py").write_text("raise RuntimeError('no database')")
    with pytest.raises(ScalingError, match="gunicorn does not answer: "):
        Served(found)


@pytest.mark.one_build
def test_only_requests_of_a_blocked_loop_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wait for a machine that stalls; the median of the blocked loop's has its block, too."""
    waited_s: dict[bool, list[float]] = {True: [], False: []}
    record = faults_and_soak.record

    def noted(*known: Any) -> FaultRecord:
        _, _, sent, blocked, failed_s, _ = known
        for each in sent:
            if failed_s <= each.due_s <= failed_s + faults_and_soak.BLOCKED_S and each.loop:
                waited_s[each.loop == blocked].append(each.ended_s - each.due_s)
        return record(*known)

    monkeypatch.setattr(faults_and_soak, "record", noted)
    monkeypatch.setattr(faults_and_soak, "AFTER_S", 2.0)
    fault = measured(tmp_path, "threads", "one worker blocked for 1 s")
    assert fault.workers == WORKERS
    assert fault.own_max_ms
    assert fault.others_max_ms
    assert fault.own_max_ms > 900
    assert statistics.median(waited_s[True]) > statistics.median(waited_s[False])
    assert (fault.lost, fault.refused) == (0, 0)


@pytest.mark.one_build
def test_threads_that_crash_are_gone_together_until_they_are_started_again(tmp_path: Path) -> None:
    fault = measured(tmp_path, "threads", "one worker killed")
    assert fault.lost + fault.refused
    assert fault.back_s


@pytest.mark.free_threaded
def test_a_restart_of_threads_loses_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults_and_soak, "AFTER_S", 1.0)
    fault = measured(tmp_path, "threads", "graceful restart")
    assert (fault.lost, fault.refused) == (0, 0)


@pytest.mark.one_build
def test_a_fault_that_did_not_happen_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No restart, and no crash."""
    monkeypatch.setattr(Served, "restart", lambda _: None)
    monkeypatch.setattr(faults_and_soak, "KILL", WHO)
    for limit in ("AFTER_S", "REPLACED_S"):
        monkeypatch.setattr(faults_and_soak, limit, 1.0)
    with pytest.raises(ScalingError, match="old workers"):
        measured(tmp_path, "threads", "graceful restart")
    with pytest.raises(ScalingError, match="no worker died"):
        measured(tmp_path, "processes", "one worker killed")


@pytest.mark.one_build
def test_nothing_is_left_running_where_a_fault_cannot_be_caused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Served) -> str:
        raise subprocess.TimeoutExpired("serve.py", 1)

    before = threading.active_count()
    monkeypatch.setitem(faults_and_soak.FAULTS, "one worker killed", fail)
    with pytest.raises(subprocess.TimeoutExpired):
        measured(tmp_path, "threads", "one worker killed")
    assert threading.active_count() == before  # nobody sends requests


@pytest.mark.one_build
def test_nothing_is_left_running_after_an_interrupt_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Served] = []

    def interrupted(served: Served) -> None:
        started.append(served)
        raise KeyboardInterrupt

    monkeypatch.setattr(Served, "_until_answered", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Served(configuration(tmp_path, "threads"))
    assert started[0].exit_code is not None


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


def watched(folder: Path, shop: str, duration_s: float) -> SoakRecord:
    with contextlib.closing(Served(configuration(folder, "threads", shop=shop))) as served:
        return soak(served, serving.program(), RATE, duration_s, limit_bytes=300 * MIB)


@pytest.mark.one_build
def test_every_part_has_its_memory(tmp_path: Path) -> None:
    found = watched(tmp_path, SHOP, duration_s=3.0)
    assert len(found.memory_mib) == PARTS
    assert all(each is not None and 10 < each < 300 for each in found.memory_mib)
    assert found.requests
    assert (found.errors, found.ended) == (0, "")


@pytest.mark.one_build
def test_a_reading_without_pss_is_left_out_where_others_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RSS in its place would be a step of memory that nobody used."""
    readings = iter([(30, 10), (30, None), (34, 12)])

    def full_memory(_: object) -> dict[str, int | None]:
        rss, pss = next(readings)
        return {"rss": rss << 20, "pss": None if pss is None else pss << 20}

    monkeypatch.setattr(faults_and_soak, "full_memory", full_memory)
    server = SimpleNamespace(exit_code=None, pid=os.getpid())
    watched = faults_and_soak._Watched(cast("Served", server), limit_bytes=1e12)
    assert [watched._read() for _ in range(3)] == [[10.0], [], [12.0]]
    assert watched.kind == "PSS"


@pytest.mark.one_build
def test_a_leak_ends_at_its_limit(tmp_path: Path) -> None:
    found = watched(tmp_path, LEAK, ENDS_LONG_BEFORE_S)
    assert found.ended == "stopped at the memory limit of 300 MiB"
    assert found.requests is None
    memory = [each for each in found.memory_mib if each is not None]
    assert 0 < len(memory) < PARTS  # how many depends on how fast it leaks
    assert memory[-1] >= memory[0]


@pytest.mark.one_build
def test_a_server_that_ends_is_named(tmp_path: Path) -> None:
    crash = "kept.append(1 if len(kept) < 20 else os.kill(os.getpid(), signal.SIGKILL))"
    found = watched(tmp_path, LEAK.replace(KEEP, crash), ENDS_LONG_BEFORE_S)
    assert found.ended == "ended by signal 9"
