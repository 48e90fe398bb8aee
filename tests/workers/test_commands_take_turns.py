"""Commands that serve are loaded in turn, and use nothing while others have their turn."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest

from scaling.analysis.table.ticks import throughputs
from scaling.run.child import Ending
from tests.support.deployed import measured
from tests.support.serving import alternated, are_apart, spans

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


@pytest.mark.free_threaded
def test_commands_are_loaded_in_turn_with_loops(shop: Path) -> None:
    cells = [cell(server, "threads", loop="uvloop") for server in ("granian", "loops")]
    endings, _ = alternated(cells, shop, connections=CONNECTIONS)
    is_right(endings[0])
    record = measured(endings[0])
    assert record.outside.workers == 2
    assert record.process.gil.seen == (False,) * 4
    assert record.loop.class_ == "uvloop.Loop"
    assert are_apart(map(measured, endings))


@pytest.mark.one_build
def test_servers_without_loops_are_loaded_in_turn(shop: Path) -> None:
    asked = {"interface": "wsgi"}
    endings, _ = alternated(
        [
            cell("gunicorn-gthread", "threads", "shop:wsgi", parameters=asked),
            own(f"{sys.executable} -m workers.outside.on_daphne shop:app --port {{port}} "
                "--host 127.0.0.1 --workers {workers}"),
        ],
        shop,
        connections=CONNECTIONS,
    )  # fmt: skip
    for ending in endings:
        is_right(ending)


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
    assert (never.out_of_turn_cpu_s or 0.0) > 0.25 * WINDOW_S
    assert (idle.out_of_turn_cpu_s or 0.0) < 0.25 * (never.out_of_turn_cpu_s or 0.0)
    assert (disturbed.other_cpu_fraction or 0.0) > 0.1
