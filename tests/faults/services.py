"""Services and load generators: stopped or killed while a run needs them."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from scaling.analysis.table.load import read_journal
from scaling.base.errors import ScalingError
from tests.faults.checks import Fault, Try, complete, judged, latest, wrong
from tests.faults.drivers import IN_WINDOW_S, SERVED, Driver, during, start, study

# What runs, by the module of its process, and a study that needs it.
ROWS = ("web.rows=1000", "web.db_connections=2", "web.rate_per_s=100", "web.connections=2")
WEB: dict[str, Any] = {"workload": ("web",), "set": ROWS}
VALKEY = ("cache.cache=valkey", "cache.miss_us=5")
BROKER = ("broadcast.through=broker", "broadcast.connections=10")
BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "site": ("workers.services.site", {"workload": ("scrape",), "set": ("scrape.delay_ms=1",)}),
    "responder": (
        "workers.services.responder",
        {"workload": ("fetch",), "set": ("fetch.requests=3000",), "limit": 15.0},
    ),
    "postgres": ("workers.services.postgres", WEB),
    "pgbouncer": ("workers.services.pgbouncer", WEB | {"set": (*ROWS, "web.pooler=pgbouncer")}),
    "nginx": ("workers.services.nginx", WEB | {"set": (*ROWS, "web.proxy=nginx")}),
    "valkey": ("workers.services.valkey", {"workload": ("cache",), "set": VALKEY}),
    "broker": ("workers.services.broker", {"workload": ("broadcast",), "set": BROKER}),
    "load generator": ("workers.services.load", {"workload": ("serve",), "set": SERVED}),
}


def harmed(folder: Path, name: str, number: signal.Signals) -> Iterator[Try]:
    """A signal in the first run of a study and in the last; the runs after it are valid."""
    module, options = BESIDE[name]

    def harm(driver: Driver) -> str:
        found = _processes(driver, module)
        for each in found:
            with contextlib.suppress(psutil.Error):
                each.send_signal(number)
        return "" if found else f"no process of {name} was there: nothing was tried"

    with study(**{"blocks": 3, "seconds": 1.0} | options) as ready:
        runs = len(ready.plan.runs)
        for driver, done in during(ready, folder, (1, runs), harm):
            yield done
            yield _recovered(driver.folder, runs)


def _recovered(folder: Path, runs: int) -> Try:
    """Whether the fault shows, and cost one run no more than its first attempt."""
    try:
        every, last = judged(folder), latest(folder)
    except ScalingError as error:
        return wrong(str(error))
    if bad := [f"{line.outcome}: {why}" for line, why in last if line.outcome != "measured"]:
        return wrong(f"still not measured at the second attempt: {bad[0]}")
    if all(why is None for _, why in every):
        # What stops near the end of a window costs its last requests, which makes it suspect.
        words = {word for each in read_journal(folder).frame["reasons"] for word in each}
        if not words - {"machine-busy"}:
            return wrong("no run is labelled")
    return complete(folder, runs)


def driver_ended(folder: Path) -> Iterator[Try]:
    """The driver gets a signal in a window, beside each service: all end with it."""
    for name, (module, options) in BESIDE.items():
        with study(**{"seconds": 60.0} | options) as ready:
            for by in (signal.SIGTERM, signal.SIGKILL):
                driver = start(ready, folder / f"{name}-{by.name}")
                driver.wait_for_window(1)
                time.sleep(IN_WINDOW_S)
                there = driver.exit_code is None and _processes(driver, module)
                os.kill(driver.pid, by)
                driver.wait()
                yield driver.after(problem="" if there else f"no process of {name} was there")


def _processes(driver: Driver, module: str) -> list[psutil.Process]:
    """What serves: what the module has started, or its own process where that is nothing."""
    found: dict[psutil.Process, list[psutil.Process]] = {}
    for each in psutil.Process(driver.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if module in each.cmdline():
                found[each] = each.children(recursive=True)
    return [one for each, below in found.items() for one in below or [each]]


FAULTS: dict[str, Fault] = {
    f"{name} {word}": partial(harmed, name=name, number=number)
    for name in BESIDE
    for word, number in {"stopped": signal.SIGSTOP, "killed": signal.SIGKILL}.items()
} | {"driver ended beside services": driver_ended}
