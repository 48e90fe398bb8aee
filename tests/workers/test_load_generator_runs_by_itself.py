"""`python -m workers.services.load` measures a server from beginning to end, and ends in time.

That it says which server it does not reach is tested with a driver:
`test_load_faults_have_an_outcome.py`; `nox -s faults` kills the driver.
"""

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from tests.support.children import PATIENCE_S, captured
from tests.support.servers import (
    GENERATOR,
    family,
    generator_command,
    gone,
    running_responder,
    start,
)
from tests.support.waiting import wait_until
from workers.services.load import generator
from workers.services.load.coordinator import GeneratorError, generate, part_of
from workers.services.load.options import parser, read_options
from workers.services.load.requests_list import draw
from workers.services.load.tally import Tally

# A generator runs with the GIL on either build.
pytestmark = [pytest.mark.slow, pytest.mark.one_build]

FIGURES = {"mean", "p50", "p90", "p95", "p99", "p999", "max", "n"}
QUICK = ("--seconds=0.4", "--warmup=0.1", "--connections=8")
PART = ("-m", "workers.services.load.generator")


def measured(*options: str) -> dict[str, Any]:
    """What `--json` prints. On a busy machine the result may be invalid (exit code 1)."""
    done = captured(generator_command("--json", *QUICK, *options))
    assert quiet(done.stderr), done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if result["invalid"] else 0)
    failed = sum(result["errors"].values())
    assert result["offered"] == result["completed"] + result["censored"] + failed
    return result


def quiet(stderr: str) -> bool:
    """Whether nothing was said; asyncio's debug mode names callbacks that took long."""
    return all(" took " in line for line in stderr.splitlines())


@pytest.fixture(scope="module")
def responder() -> Iterator[str]:
    with running_responder("--delay-ms=2", "--body-bytes=10") as url:
        yield url


def test_an_open_loop_offers_its_rate(responder: str) -> None:
    result = measured(responder, "--rate=500", "--arrivals=constant", "--processes=3")
    assert result["offered"] == 200
    assert result["errors"] == {}
    assert result["processes"] == 3
    for name in ("latency_ms", "service_ms", "slip_ms"):
        assert set(result[name]) == FIGURES
    assert result["latency_ms"]["n"] == result["slip_ms"]["n"] == 200
    assert result["service_ms"]["n"] == result["completed"]
    assert result["latency_ms"]["max"] >= result["service_ms"]["max"]
    assert result["service_ms"]["mean"] >= 2
    assert result["latency_ms"]["p90"] is not None
    assert result["latency_ms"]["p95"] is None  # fewer than 20 beyond it
    assert 0 < result["busy_fraction"] < 1
    assert result["gil"] is (not sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert result["timer"] == ("timerfd" if hasattr(os, "timerfd_create") else "loop")


def test_a_closed_loop_keeps_every_connection_busy(responder: str) -> None:
    """Eight connections get at most 4,000 answers a second from a server that waits for 2 ms."""
    result = measured(responder, "--rate=max")
    assert 0 < result["rate_per_s"] <= 4_000
    assert result["slip_ms"]["n"] == 0
    assert result["censored"] <= 8
    assert result["service_ms"]["max"] >= result["latency_ms"]["mean"] >= 2
    assert result["invalid"] == []


def test_what_was_used_is_that_of_all_slices_but_the_warm_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = part_of(read_options(parser(), ["http://127.0.0.1:9", "--rate=max"]), 0)
    used_ns = iter([(900, 900), (10, 100), (70, 100)])  # CPU time, and time

    async def used_in(_: Tally) -> tuple[int, int]:
        return next(used_ns)

    async def send() -> dict[str, Any]:
        stdin = asyncio.StreamReader()
        for counts in (False, True, True):
            for line in ({"resume": True}, {"instants_ns": [0, 1], "counts": counts}):
                stdin.feed_data(json.dumps(line).encode() + b"\n")
        stdin.feed_data(b"{}\n")
        return await generator.send_slices(part, [], stdin)

    monkeypatch.setattr(generator, "used_in", used_in)
    monkeypatch.setattr(generator, "write_line", lambda _: None)
    monkeypatch.setattr(generator, "gc", Mock())
    found = asyncio.run(send())
    assert len(found["windows"]) == 2
    assert (found["busy_fraction"], found["cpu_s"]) == pytest.approx((0.4, 80e-9))


def test_requests_are_drawn_by_weight_and_at_once_from_a_long_list() -> None:
    """It is prepared when the instants are already known; adding up anew took minutes."""
    pick = draw([8.0, 0.0, 1.0, 1.0, 1.0, *[1e-9] * 200_000], "seed")
    drawn = Counter(pick() for _ in range(10_000))
    assert drawn[1] == 0
    assert drawn[0] / 10_000 == pytest.approx(8 / 11, abs=4 * 0.45 / 100)  # 4 σ


def started(
    *options: str, program: Sequence[str] = GENERATOR, **variables: str
) -> contextlib.AbstractContextManager["subprocess.Popen[str]"]:
    """Start the generator with its streams in our hands; it ends with the block."""
    return start(*options, command=partial(generator_command, program=program), **variables)


def test_ctrl_c_ends_it_without_a_word(responder: str) -> None:
    with started(responder, "--rate=50", "--seconds=600", "--processes=2") as load:
        members = sending(load.pid, 2)
        for each in reversed(members):  # as a terminal does, in some order
            each.send_signal(signal.SIGINT)
        out, said = load.communicate(timeout=PATIENCE_S)
        assert (load.returncode, out) == (130, "")
        assert quiet(said), said
        assert gone(members)


# The signal goes to the other thread, so no system call of the main thread is interrupted: for it,
# every signal arrives just before it waits.
UNINTERRUPTED = """
import runpy, signal, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
runpy.run_module("workers.services.load", run_name="__main__", alter_sys=True)
"""


def test_ctrl_c_just_before_a_wait_ends_it(responder: str) -> None:
    with started(responder, "--rate=50", "--instants", program=("-c", UNINTERRUPTED)) as load:
        members = sending(load.pid, 1)
        assert load.stdout
        assert load.stdout.readline()
        load.send_signal(signal.SIGINT)
        # Not communicate(): it would close standard input, which ends --instants too.
        assert load.wait(PATIENCE_S) == 130
        out, said = load.communicate()
        assert out == ""
        assert quiet(said), said
        assert gone(members)


def test_ctrl_c_never_ends_a_generator_process(responder: str) -> None:
    """The coordinator ends it; one that ended first would look like one that failed."""
    part = part_of(read_options(parser(), [responder, "--rate=50"]), 0).document()
    with started(program=PART) as process:
        assert process.stdin
        assert process.stdout
        print(json.dumps(part), file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline()) == {"connections": 64}
        opens_ns = time.monotonic_ns() + 200_000_000
        when = {"begins_ns": opens_ns, "instants_ns": [opens_ns, opens_ns + 200_000_000]}
        print(json.dumps(when), file=process.stdin, flush=True)
        while time.monotonic_ns() < opens_ns:
            process.send_signal(signal.SIGINT)
        report = json.loads(process.stdout.readline())
        assert report["windows"][0]["offered"] > 0


def test_a_generator_process_that_still_connects_ends_with_its_standard_input() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        options = read_options(parser(), [url, "--rate=1", "--timeout=600"])
        with started(program=PART) as process:
            assert process.stdin
            print(json.dumps(part_of(options, 0).document()), file=process.stdin, flush=True)
            server.accept()[0].close()  # it connects; nothing else is accepted
            out, said = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, out) == (1, "")
            assert quiet(said), said


def test_a_generator_process_without_a_reader_ends_quietly(responder: str) -> None:
    part = part_of(read_options(parser(), [responder, "--rate=1"]), 0).document()
    with started(program=PART) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        print(json.dumps(part), file=process.stdin, flush=True)
        assert process.wait(PATIENCE_S) == 1
        assert quiet(said := process.stderr.read()), said


def sending(pid: int, processes: int) -> list[psutil.Process]:
    """Wait until all generator processes have connections; give the family, the parent first."""

    def all_have() -> bool:
        _, *members = family(pid)
        return len(members) == processes and all(each.net_connections("tcp") for each in members)

    wait_until(all_have)
    return family(pid)


def test_a_process_that_cannot_be_started_is_named_and_leaves_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def one_alone(*given: Any, **named: Any) -> subprocess.Popen[str]:
        if started:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(popen(*given, **named))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", one_alone)
    options = read_options(parser(), ["http://127.0.0.1:9", "--rate=1", "--processes=2"])
    with pytest.raises(GeneratorError, match="cannot be started: Resource temporarily unavailable"):
        generate(options, None)
    assert started[0].returncode == -signal.SIGKILL
