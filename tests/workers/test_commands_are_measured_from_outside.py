"""Servers as people deploy them are started, measured and ended from outside."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.analysis.validity import served as limits
from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import PATIENCE_S, environment, failure_of
from tests.support.deployed import left_of, measured
from tests.support.servers import gone
from tests.support.serving import served
from tests.support.waiting import wait_until
from tests.support.wheels import compile_flips
from workers.cell import Cell
from workers.outside import hosting, readiness
from workers.outside.hosting import OutsideHost
from workers.outside.tree import CpuClock, Known, end, family, has_work
from workers.system import free_port
from workers.worker.workload import build
from workers.workloads.app import App

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]


def run(
    folder: Path, server: str, model: str, application: str = "shop:app", **more: Any
) -> Ending:
    """One run of two workers, from outside."""
    parameters = {"application": application, "server": server, **more.pop("parameters", {})}
    return served("app", folder, model=model, **{"workers": 2, "parameters": parameters, **more})


@pytest.mark.one_build
def test_a_server_is_measured_and_its_processes_divide_what_workers_share(shop: Path) -> None:
    """gunicorn here, granian in `test_commands_take_turns.py`, uvicorn in the other tests."""
    (shop / "sharing.py").write_text(
        'import os\nfrom shop import create_wsgi\nassert os.environ["SCALING_BUDGET_DB"] == "2"\n'
    )
    asked = {"interface": "wsgi", "factory": True, "budgets": "db=5"}
    ending = run(shop, "gunicorn-gthread", "forked", "sharing:create_wsgi", parameters=asked)
    record = measured(ending)
    assert (record.loop.class_, record.outside.processes) == ("none", 3)
    (worker,) = record.workers
    assert ending.load
    received = sum(each.received or 0 for each in ending.load.windows)
    assert worker.ticks.operations[-1] == received > 0
    assert worker.ticks.cpu_ns[-1] - worker.ticks.cpu_ns[0] > 0
    assert ending.memory.rss_bytes
    assert ending.memory.pss_bytes
    assert left_of(shop) == []


@pytest.mark.one_build
def test_processes_of_gunicorn_take_no_more_than_their_share(shop: Path) -> None:
    """One process would take all connections in a third of such runs."""
    asked = {"interface": "wsgi", "connections": 16}
    load = {"connections": 8, "in_flight": 8, "rate_per_s": None}
    ending = run(shop, "gunicorn-gthread", "processes", "shop:wsgi", parameters=asked, **load)
    record = measured(ending)
    assert record.facts["command"].partition("--worker-connections ")[2].startswith("5 ")
    used_ns = record.outside.cpu_ns
    assert list(used_ns) == sorted(used_ns, reverse=True)
    ticks = record.workers[0].ticks
    assert sum(used_ns) == pytest.approx(ticks.cpu_ns[-1] - ticks.cpu_ns[0], rel=0.2)
    assert used_ns[0] < limits.NEARLY_ALL * sum(used_ns)


CHECKING = """
    import os
    from shop import app as answering
    assert OF_SITE == 7
    assert os.environ["SCALING_BUDGET_DB"] == "2"
    asked = 0

    async def app(scope, receive, send):
        global asked
        asked += scope["type"] == "http"
        if scope["type"] == "http" and asked <= 3:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body"})
            return
        await answering(scope, receive, send)
"""


@pytest.mark.one_build
def test_settings_start_up_file_shares_and_a_health_path_are_a_commands_too(shop: Path) -> None:
    (shop / "sitecustomize.py").write_text("import builtins; builtins.OF_SITE = 7\n")
    (shop / "checking.py").write_text(textwrap.dedent(CHECKING))
    more = {"gc": False, "gc_threshold": 7_000, "parameters": {"budgets": "db=5", "health": "/up"}}
    process = measured(run(shop, "uvicorn", "processes", "checking:app", **more)).process
    assert (process.gc_enabled, process.gc_threshold) == (False, 7_000)


FLIPPING = """
    import os, time
    from pathlib import Path
    from shop import app
    (seen := Path(__file__).with_name("seen")).mkdir(exist_ok=True)
    (seen / str(os.getpid())).touch()
    while len(workers := [int(each.name) for each in seen.iterdir()]) < 2:
        time.sleep(0.01)
    if os.getpid() == max(workers):  # the other one stays without the GIL
        import flips
"""


@pytest.mark.free_threaded
@pytest.mark.needs("cc")
def test_the_import_that_turns_the_gil_on_in_one_worker_is_named(shop: Path) -> None:
    (compile_flips(shop) / "flipping.py").write_text(textwrap.dedent(FLIPPING))
    gil = measured(run(shop, "uvicorn", "processes", "flipping:app")).process.gil
    assert (gil.seen, gil.enabled_by) == ((False, True, True, True), "flips")


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("python -m uvicorn shopp:app --port {port}", "Could not import module"),
        ("no-such-program", "cannot be started"),
    ],
)
def test_a_command_that_does_not_serve_fails_in_one_line(
    shop: Path, command: str, says: str
) -> None:
    ending = run(shop, "command", "processes", parameters={"command": command}, workers=1)
    error = failure_of(ending).error
    assert says in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("server", "model", "says"),
    [
        ("uvicorn", "threads", "workers of uvicorn are processes here"),
        ("gunicorn-gthread", "processes", "gunicorn-gthread does not serve an application of asgi"),
    ],
)
def test_what_a_server_does_not_serve_is_refused(server: str, model: str, says: str) -> None:
    app = build(App, {"server": server, "interface": "asgi"})
    assert (app.refuses(model, "asyncio") or "").startswith(says)


DYING = """
    import os, time
    from shop import app as answering

    async def app(scope, receive, send):
        if scope["type"] == "http" and scope["query_string"]:
            os._exit(5)
        await answering(scope, receive, send)
"""


@pytest.mark.one_build
def test_a_command_that_ends_under_load_is_a_failed_run(shop: Path) -> None:
    (shop / "dying.py").write_text(textwrap.dedent(DYING))

    def fatal(generator: Generator) -> None:
        connect = generator.connect

        async def instead(urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
            del requests
            await connect(urls, [{"path": "/?now"}])

        generator.connect = instead  # type: ignore[method-assign]

    ending = run(shop, "uvicorn", "processes", "dying:app", workers=1, watch=fatal)
    failure = failure_of(ending)
    assert failure.phase == "window"
    assert "the command ended with exit code 5" in failure.error
    assert left_of(shop) == []


IN_COMMAND = """
import subprocess, time
from workers.outside.hosting import _in_the_command
subprocess.Popen(["sleep", "77.5"], preexec_fn=_in_the_command(None))
print("ready", flush=True)
time.sleep(300)
"""


@pytest.mark.one_build
def test_a_command_ends_with_the_process_that_measures_it() -> None:
    """Even if that one is killed: the kernel sees to it."""
    command = [sys.executable, "-c", IN_COMMAND]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as host:
        assert host.stdout
        assert host.stdout.readline() == b"ready\n"
        (child,) = psutil.Process(host.pid).children()
        host.kill()
    assert gone([child])


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("health", "says"),
    [("", "does the command use {port}"), ("/ready", "nothing answers on its port")],
)
def test_a_command_that_never_answers_is_given_up(
    health: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "READY_S", 0.1)
    with pytest.raises(readiness.NotReadyError, match=re.escape(says)):
        readiness.wait_for_answer(free_port(), health, lambda: None)


@pytest.mark.one_build
def test_a_worker_that_starts_late_is_waited_for_and_its_cpu_time_counts(shop: Path) -> None:
    (shop / "late.py").write_text(
        "import time\n"
        "def post_fork(server, worker):\n"
        "    if worker.age == 2:\n"
        "        while time.process_time() < 0.5: pass\n"
        f"        open({str(shop / 'ready')!r}, 'w').write(str(time.monotonic_ns()))\n"
    )
    text = f"{sys.executable} -m gunicorn --config {shop / 'late.py'} shop:wsgi "
    text += "--bind 127.0.0.1:{port} --workers {workers}"
    cpu = min(os.sched_getaffinity(0))
    asked = {"command": text}
    pinning = [[cpu], [cpu]]
    record = measured(run(shop, "command", "processes", parameters=asked, pinning=pinning))
    assert record.facts["command"].endswith(" --bind 127.0.0.1:{port} --workers 2")
    assert record.workers[0].cpus == [cpu]
    assert int((shop / "ready").read_text()) < (record.instants_ns.opened or 0)
    assert record.workers[0].ticks.cpu_ns[0] > 0.5e9


def test_workers_that_began_later_are_given_their_time() -> None:
    assert readiness.settle_s([5], 9) == 0.0
    # Loops made at 1 s and 2 s, an answer at 3 s: the second may need until 2 + 1.5 · 2 s.
    assert readiness.settle_s([10**9, 2 * 10**9], 3 * 10**9) == pytest.approx(2.0)


@pytest.mark.one_build
def test_a_command_that_is_not_ready_ends_when_the_driver_is_gone(shop: Path) -> None:
    (shop / "slow.py").write_text("import time\ntime.sleep(60)\n")
    ours, theirs = socket.socketpair()
    cell = {
        "workload": "app",
        "model": "processes",
        "parameters": {"application": "slow:app", "server": "uvicorn"},
        "observer_fd": theirs.fileno(),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "workers"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(shop),
        pass_fds=(theirs.fileno(),),
    ) as host:
        theirs.close()
        assert host.stdin
        host.stdin.write(json.dumps(cell).encode())
        host.stdin.close()
        wait_until(lambda: len(psutil.Process(host.pid).children()) == 1)
        (command,) = psutil.Process(host.pid).children()
        ours.close()
        assert host.wait(PATIENCE_S) == 1
    assert gone([command])


type Process = subprocess.Popen[bytes]


@pytest.fixture
def sleeping() -> Iterator[Process]:
    """A command that does nothing."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def another(known: Known) -> Known:
    """What was known of a process whose id another one has now."""
    return known._replace(started=known.started - 1)


def test_what_a_process_started_is_ended_and_no_other_that_has_its_id(sleeping: Process) -> None:
    assert {os.getpid(), sleeping.pid} <= {each.pid for each in family(os.getpid())}
    (stranger,) = family(sleeping.pid)
    command = subprocess.Popen(["sleep", "60"])
    end(command, {another(stranger)})
    assert command.returncode == -signal.SIGTERM
    assert stranger.exists
    end(command, {stranger})
    assert sleeping.wait() == -signal.SIGKILL
    assert family(sleeping.pid) == set()


def test_a_thread_that_runs_has_work_to_do_and_one_that_sleeps_has_none(sleeping: Process) -> None:
    (ours,) = (each for each in family(os.getpid()) if each.pid == os.getpid())
    assert has_work([ours]), "the thread that asks is running"
    (known,) = family(sleeping.pid)
    clock = CpuClock()
    assert clock.read_ns([another(known), another(ours)]) == 0  # with the ids of those that ended
    used_ns = clock.read_ns([ours])
    assert clock.read_ns([another(ours)]) == used_ns > 0
    assert not has_work([another(ours)])
    wait_until(lambda: not has_work(family(sleeping.pid)))


@pytest.mark.one_build
@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_the_record_says_whether_a_command_came_to_rest(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = "while" in code
    monkeypatch.setattr(hosting, "REST_S", 0.02)
    monkeypatch.setattr(hosting, "REST_MOST_S", 0.1 if busy else 60.0)
    monkeypatch.setattr(OutsideHost, "_pause", lambda _, seconds: time.sleep(seconds))
    host = OutsideHost(Cell(workload="app"), folder=".")
    with subprocess.Popen([sys.executable, "-S", "-c", code]) as process:
        host._process = process
        host._rest()
        outside = host._record(None)["outside"]
        end(process, host._processes)
    host._printed.close()
    assert outside["at_rest"] is not busy
    assert outside["processes"] == 1
