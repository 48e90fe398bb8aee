"""Servers as people deploy them are started, measured and ended from outside."""

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import FREE_THREADED, PATIENCE_S, ROOT
from tests.support.flips import compile_flips
from tests.support.servers import environment, gone
from tests.support.serving import served
from tests.support.waiting import wait_until
from workers.outside import readiness
from workers.starting import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

SHOP = """
    async def app(scope, receive, send):
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    def create_app():
        return app

    def wsgi(environ, start_response):
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def create_wsgi():
        return wsgi
"""
GRANIAN = "threads" if FREE_THREADED else "processes"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(textwrap.dedent(SHOP))
    return tmp_path


def run(
    folder: Path, server: str, model: str, application: str = "shop:app", **more: Any
) -> Ending:
    """One run of two workers, from outside."""
    parameters = {"application": application, "server": server, **more.pop("parameters", {})}
    return served("app", folder, model=model, **{"workers": 2, "parameters": parameters, **more})


def measured(ending: Ending) -> Any:
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.load
    assert ending.load.errors == {}
    return ending.record


@pytest.mark.parametrize(
    ("server", "model", "loop", "made"),
    [
        ("uvicorn", "processes", "uvloop", "uvloop.Loop"),
        ("uvicorn", "processes", "asyncio", "asyncio.unix_events._UnixSelectorEventLoop"),
        ("granian", GRANIAN, "uvloop", "uvloop.Loop"),
    ],
)
def test_servers_of_asgi_are_measured(
    shop: Path, server: str, model: str, loop: str, made: str
) -> None:
    ending = run(shop, server, model, loop=loop)
    record = measured(ending)
    assert record.loop.class_ == made
    assert record.outside.workers == 2
    (worker,) = record.workers
    assert ending.load
    received = sum(each.received or 0 for each in ending.load.windows)
    assert worker.ticks.operations[-1] == received > 0
    assert worker.ticks.cpu_ns[-1] - worker.ticks.cpu_ns[0] > 0
    assert record.process.gil.seen == (not FREE_THREADED,) * 4
    assert record.process.free_threaded is FREE_THREADED
    assert ending.memory.rss_bytes
    assert ending.memory.pss_bytes


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("server", "model"), [("gunicorn", "processes"), ("gunicorn-gthread", "threads")]
)
@pytest.mark.parametrize("factory", [False, True])
def test_servers_of_wsgi_are_measured(shop: Path, server: str, model: str, factory: bool) -> None:
    asked = {"interface": "wsgi", "factory": factory}
    name = "shop:create_wsgi" if factory else "shop:wsgi"
    record = measured(run(shop, server, model, name, parameters=asked))
    assert record.loop.class_ == "none"
    assert record.outside.processes == (3 if model == "processes" else 2)
    assert record.workers[0].ticks.operations[-1] > 0


@pytest.mark.one_build
def test_any_command_is_measured(shop: Path) -> None:
    text = "uvicorn shop:create_app --factory --port {port} --workers {workers} --loop asyncio"
    cpu = min(os.sched_getaffinity(0))
    ending = run(shop, "command", "processes", parameters={"command": text}, pinning=[[cpu], [cpu]])
    record = measured(ending)
    assert record.facts["command"] == text.replace("{workers}", "2")
    assert record.loop.class_.startswith("asyncio.")
    assert record.workers[0].cpus == [cpu]


@pytest.mark.needs("cc")
def test_the_import_that_turns_the_gil_on_is_named(shop: Path) -> None:
    (compile_flips(shop) / "flipping.py").write_text("import flips\nfrom shop import app\n")
    record = measured(run(shop, "uvicorn", "processes", "flipping:app"))
    gil = record.process.gil
    assert gil.seen == ((False, True, True, True) if FREE_THREADED else (True,) * 4)
    assert gil.enabled_by == ("flips" if FREE_THREADED else None)


def test_settings_of_an_arm_reach_the_command_and_are_read_back(shop: Path) -> None:
    more: dict[str, Any] = {"gc": False, "gc_threshold": 7_000}
    process = measured(run(shop, "uvicorn", "processes", **more)).process
    assert (process.gc_enabled, process.gc_threshold) == (False, 7_000)
    assert process.allocator == ("mimalloc" if FREE_THREADED else "pymalloc")


@pytest.mark.one_build
def test_the_environments_own_start_up_file_is_imported_too(shop: Path) -> None:
    (shop / "sitecustomize.py").write_text("import builtins; builtins.OF_SITE = 7\n")
    (shop / "checking.py").write_text("assert OF_SITE == 7\nfrom shop import app\n")
    assert measured(run(shop, "uvicorn", "processes", "checking:app", workers=1))


@pytest.mark.one_build
def test_processes_get_their_share(shop: Path) -> None:
    code = "import os\nassert os.environ['SCALING_BUDGET_DB'] == '2'\nfrom shop import app\n"
    (shop / "checking.py").write_text(code)
    asked = {"budgets": "db=5"}
    assert measured(run(shop, "uvicorn", "processes", "checking:app", parameters=asked))


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("server", "model", "application", "parameters", "says"),
    [
        ("uvicorn", "processes", "shopp:app", {}, "Could not import module"),
        ("uvicorn", "processes", "shop:zzz", {}, 'Attribute "zzz" not found in module "shop"'),
        ("uvicorn", "threads", "shop:app", {}, "workers of uvicorn are processes here"),
        ("gunicorn", "processes", "shop:app", {"interface": "asgi"}, "does not serve an applicat"),
        ("command", "processes", "shop:app", {"command": "no-such-program"}, "cannot be started"),
        ("command", "processes", "shop:app", {"command": "sh -c 'exit 3'"}, "with exit code 3, an"),
        ("command", "processes", "shop:app", {"command": "sh -c '"}, "No closing quotation"),
    ],
)
def test_a_command_that_does_not_serve_fails_in_one_line(
    shop: Path, server: str, model: str, application: str, parameters: dict[str, Any], says: str
) -> None:
    ending = run(shop, server, model, application, parameters=parameters, workers=1)
    assert ending.outcome == "failed"
    assert ending.record
    assert ending.record.failure
    assert says in ending.record.failure.error
    assert "\n" not in ending.record.failure.error


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

        def instead(urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
            del requests
            connect(urls, [{"path": "/?now"}])

        generator.connect = instead  # type: ignore[method-assign]

    ending = run(shop, "uvicorn", "processes", "dying:app", workers=1, watch=fatal)
    assert ending.outcome == "failed"
    assert ending.record
    assert ending.record.failure
    assert ending.record.failure.phase == "window"
    assert "the command ended with exit code 5" in ending.record.failure.error


@pytest.mark.one_build
@pytest.mark.parametrize("application", ["shop:app", "dying:app"])
def test_nothing_of_a_command_is_left(shop: Path, application: str) -> None:
    (shop / "dying.py").write_text(textwrap.dedent(DYING))
    run(shop, "uvicorn", "processes", application)
    assert not [each for each in psutil.process_iter() if of_run(each, shop)]


@pytest.mark.one_build
def test_a_command_ends_with_the_process_that_measures_it(shop: Path) -> None:
    """Even if that one is killed: the kernel sees to it."""
    code = f"""
        import subprocess, sys, time
        from workers.outside.hosting import _in_the_command
        subprocess.Popen(["sleep", "77.5"], preexec_fn=_in_the_command(None))
        print("ready", flush=True)
        time.sleep({PATIENCE_S})
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        env=environment(),
    ) as host:
        assert host.stdout
        assert host.stdout.readline() == b"ready\n"
        (child,) = psutil.Process(host.pid).children()
        host.kill()
    assert gone([child])


def of_run(process: psutil.Process, folder: Path) -> bool:
    """Whether a process was started by a run with that folder on its path."""
    try:
        return str(folder) in process.environ().get("PYTHONPATH", "")
    except psutil.Error:
        return False


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
def test_a_health_path_is_awaited(shop: Path) -> None:
    (shop / "slow.py").write_text(
        "import time\nfrom shop import app as answering\nbegan = time.monotonic()\n"
        "async def app(scope, receive, send):\n"
        "    if scope['type'] == 'http' and time.monotonic() < began + 0.5:\n"
        "        await send({'type': 'http.response.start', 'status': 503, 'headers': []})\n"
        "        await send({'type': 'http.response.body'})\n"
        "        return\n"
        "    await answering(scope, receive, send)\n"
    )
    asked = {"health": "/ready"}
    measured(run(shop, "uvicorn", "processes", "slow:app", parameters=asked, workers=1))


@pytest.mark.one_build
def test_a_worker_that_starts_late_is_waited_for_and_its_cpu_time_counts(shop: Path) -> None:
    (shop / "late.py").write_text(
        "import time\n"
        "def post_fork(server, worker):\n"
        "    if worker.age == 2:\n"
        "        while time.process_time() < 0.5: pass\n"
        f"        open({str(shop / 'ready')!r}, 'w').write(str(time.monotonic_ns()))\n"
    )
    text = (
        f"{sys.executable} -m gunicorn --config {shop / 'late.py'} shop:wsgi "
        "--bind 127.0.0.1:{port} --workers {workers}"
    )
    record = measured(run(shop, "command", "processes", parameters={"command": text}))
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
        env=environment() | {"PYTHONPATH": f"{shop}:{ROOT}"},
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
