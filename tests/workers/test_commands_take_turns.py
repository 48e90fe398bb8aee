"""Commands that serve are loaded in turn, and use nothing while others have their turn."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.analysis.table.ticks import throughputs
from scaling.run.child import Ending
from tests.support.children import FREE_THREADED, failure_of
from tests.support.deployed import GRANIAN, left_of, measured
from tests.support.serving import alternated, are_apart, spans
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("stops"),
]

WINDOW_S = 0.4
CONNECTIONS = 8
CELL = {"workload": "app", "workers": 2, "warmup_s": 0.1, "window_s": WINDOW_S, "ticks": 20}


def cell(server: str, model: str, name: str = "shop:app", **more: Any) -> dict[str, Any]:
    """A cell of an application behind that server."""
    parameters = {"application": name, "server": server, **more.pop("parameters", {})}
    return {**CELL, "model": model, "parameters": parameters, **more}


def own(command: str, **more: Any) -> dict[str, Any]:
    """A cell whose server is a user's own command."""
    return cell("command", "processes", parameters={"command": command}, **more)


def is_right(ending: Ending) -> None:
    """Whether ticks have the slices alone, as one window, and agree with the load."""
    record, load = measured(ending), ending.load
    assert load
    (worker,) = record.workers
    assert worker.slices
    ticks, true = worker.ticks, spans(record)
    assert len(true) >= 2
    assert ticks.time_ns[-1] - ticks.time_ns[0] == sum(closed - opened for opened, closed in true)
    assert (ticks.time_ns[-1] - ticks.time_ns[0]) / 1e9 == pytest.approx(WINDOW_S, rel=0.3)
    assert len(load.windows) == len(ticks.time_ns) - 1
    assert ticks.operations[-1] == sum(each.received or 0 for each in load.windows) > 0
    assert load.unfinished.count == []
    assert throughputs([record])[0] == pytest.approx(load.achieved_per_s, rel=0.05)
    used_ns = ticks.cpu_ns[-1] - ticks.cpu_ns[0]
    assert 0 < used_ns <= (psutil.cpu_count() or 1) * (ticks.time_ns[-1] - ticks.time_ns[0])


def test_commands_are_loaded_in_turn_with_loops(shop: Path) -> None:
    cells = [
        cell("uvicorn", "processes", loop="uvloop"),
        cell("granian", GRANIAN, loop="uvloop"),
        cell("loops", "threads", loop="uvloop"),
    ]
    endings, _ = alternated(cells, shop, connections=CONNECTIONS)
    for ending in endings[:2]:
        is_right(ending)
        record = measured(ending)
        assert record.outside.workers == 2
        assert record.process.gil.seen == (not FREE_THREADED,) * 4
    assert are_apart(map(measured, endings))


@pytest.mark.one_build
def test_servers_without_loops_are_loaded_in_turn(shop: Path) -> None:
    asked = {"interface": "wsgi"}
    endings, _ = alternated(
        [
            cell("gunicorn-gthread", "forked", "shop:wsgi", parameters=asked),
            cell("gunicorn-gthread", "threads", "shop:wsgi", parameters=asked),
            own(f"{sys.executable} -m workers.outside.on_daphne shop:app --port {{port}} "
                "--host 127.0.0.1 --workers {workers}"),
        ],
        shop,
        connections=CONNECTIONS,
    )  # fmt: skip
    for ending in endings:
        is_right(ending)


SLOW = """
    import asyncio

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        await asyncio.sleep(0.02)
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})
"""


@pytest.mark.one_build
def test_answers_that_come_in_bunches_are_counted_as_often_as_they_come(shop: Path) -> None:
    """All are sent at once when the load goes on: slices that open after a part of the first 20 ms
    and have no whole number of them would have a bunch too many each, of five.
    """
    (shop / "slow.py").write_text(textwrap.dedent(SLOW))
    servers = ("uvicorn", "loops")
    asked = [cell(each, "processes", "slow:app", workers=1, window_s=1.0) for each in servers]
    endings, _ = alternated(asked, shop, connections=CONNECTIONS)
    for rate_per_s in throughputs(list(map(measured, endings))):
        assert 100 < rate_per_s < 1.05 * CONNECTIONS / 0.02


DYING = """
    import os, time
    from shop import app as answering

    asked_s = []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            asked_s.append(time.monotonic())
            if len(asked_s) > 10 and asked_s[-1] > asked_s[9] + 0.4:  # after the warm-up
                os._exit(5)
        await answering(scope, receive, send)
"""


@pytest.mark.one_build
def test_a_command_that_crashes_in_its_turn_leaves_the_group(shop: Path) -> None:
    (shop / "dying.py").write_text(textwrap.dedent(DYING))
    dying = own(f"{sys.executable} -m uvicorn dying:app --port {{port}}", workers=1)
    other = cell("uvicorn", "processes", workers=1)
    endings, _ = alternated([other, dying, other], shop, connections=CONNECTIONS)
    assert [each.outcome for each in endings] == ["measured", "failed", "measured"]
    failure = failure_of(endings[1])
    assert failure.phase == "window"
    assert "the command ended with exit code 5" in failure.error
    is_right(endings[0])
    is_right(endings[2])
    assert left_of(shop) == []


@pytest.mark.one_build
def test_a_command_that_ignores_signals_is_gone_at_the_end(shop: Path) -> None:
    """With a worker in a session of its own that has lost its parent."""
    (shop / "deaf.py").write_text(
        "import os, signal, time\n"
        "from shop import app\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    time.sleep(3600)\n"
        "os.wait()\n"
    )
    (shop / "serves.py").write_text(
        "import asyncio, signal, sys, uvicorn\n"
        "import deaf\n"
        "server = uvicorn.Server(uvicorn.Config(deaf.app, port=int(sys.argv[1])))\n"
        "server.handle_exit = lambda *_: None\n"
        "server.run()\n"
    )
    (shop / "sitecustomize.py").write_text(
        "import workers.outside.tree\nworkers.outside.tree.GRACE_S = 0.5\n"
    )
    text = f"{sys.executable} {shop / 'serves.py'} {{port}}"
    cells = [own(text, workers=1), cell("uvicorn", "processes")]
    endings, _ = alternated(cells, shop, connections=CONNECTIONS)
    for ending in endings:
        is_right(ending)
    wait_until(lambda: not left_of(shop))


BUSY = """
    import threading
    from shop import app

    def spin():
        while True:
            pass

    threading.Thread(target=spin, daemon=True).start()
"""


@pytest.mark.one_build
def test_what_a_command_does_out_of_turn_is_recorded_and_counts_as_other_load(shop: Path) -> None:
    (shop / "busy.py").write_text(textwrap.dedent(BUSY))
    (shop / "sitecustomize.py").write_text(  # it never comes to rest
        "import workers.outside.hosting\nworkers.outside.hosting.REST_MOST_S = 0.5\n"
    )
    asked = cell("uvicorn", "processes", workers=1)
    busy = own(f"{sys.executable} -m uvicorn busy:app --port {{port}}", workers=1)
    (idle, never), disturbed = alternated([asked, busy], shop, connections=CONNECTIONS)
    assert (never.out_of_turn_cpu_s or 0.0) > 0.5 * WINDOW_S
    assert (idle.out_of_turn_cpu_s or 0.0) < 0.25 * (never.out_of_turn_cpu_s or 0.0)
    assert (disturbed.other_cpu_fraction or 0.0) > 0.1
