"""Services and load generators: stopped, slow, or killed while a run needs them."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from scaling.analysis.table.load import read_journal
from scaling.base.errors import ScalingError
from tests.faults.attempt import Fault, Try
from tests.faults.drivers import (
    IN_WINDOW_S,
    SERVED,
    Driver,
    during,
    outcome,
    send,
    start,
    study,
)
from tests.faults.records import judged, latest
from workers.cell import LOOPBACK
from workers.services.postgres import NAME

TAKEN_S = 1.5  # long enough for the set-up of the next run, too short for its second attempt
SLOW_S = 0.3  # how long it stops, again and again
# What runs, by the module of its process, and a study that needs it.
ROWS = ("web.rows=1000", "web.db_connections=2", "web.rate_per_s=100", "web.connections=2")
WEB: dict[str, Any] = {"workload": ("web",), "set": ROWS}
BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "site": ("workers.services.site", {"workload": ("scrape",), "set": ("scrape.delay_ms=1",)}),
    "responder": (
        "workers.services.responder",
        {"workload": ("fetch",), "set": ("fetch.requests=3000",), "limit": 15.0},
    ),
    "postgres": ("workers.services.postgres", WEB),
    "pgbouncer": ("workers.services.pgbouncer", WEB | {"set": (*ROWS, "web.pooler=pgbouncer")}),
    "nginx": ("workers.services.nginx", WEB | {"set": (*ROWS, "web.proxy=nginx")}),
    "valkey": (
        "workers.services.valkey",
        {"workload": ("cache",), "set": ("cache.cache=valkey", "cache.miss_us=5")},
    ),
    "broker": (
        "workers.services.broker",
        {
            "workload": ("broadcast",),
            "set": ("broadcast.through=broker", "broadcast.connections=10"),
        },
    ),
    "load generator": ("workers.services.load", {"workload": ("serve",), "set": SERVED}),
}


def stop(processes: list[psutil.Process]) -> None:
    """Stop it for good."""
    send(processes, signal.SIGSTOP)


def kill(processes: list[psutil.Process]) -> None:
    """Kill it."""
    send(processes, signal.SIGKILL)


def slow(processes: list[psutil.Process]) -> None:
    """Stop it every now and then."""
    for _ in range(4):
        send(processes, signal.SIGSTOP)
        time.sleep(SLOW_S)
        send(processes, signal.SIGCONT)
        time.sleep(SLOW_S / 10)


def take_connections(processes: list[psutil.Process]) -> None:
    """Have all connections that the database gives, for as long as a run takes to begin."""
    import psycopg

    ports = set()
    for each in processes:
        with contextlib.suppress(psutil.Error):  # the database ends some of its own
            found = each.net_connections("tcp4")
            ports |= {its.laddr.port for its in found if its.status == psutil.CONN_LISTEN}
    (port,) = ports
    with contextlib.ExitStack() as kept:
        with contextlib.suppress(psycopg.OperationalError):  # there is no more
            while True:
                kept.enter_context(psycopg.connect(f"postgresql://{NAME}@{LOOPBACK}:{port}/{NAME}"))
        time.sleep(TAKEN_S)


HARMLESS = (slow, take_connections)  # to the run that is in its window


def service(name: str, do: Callable[[list[psutil.Process]], None]) -> Fault:
    """Do it in the first run of a study and in the last; the runs after it are valid."""
    module, options = BESIDE[name]

    def harm(driver: Driver) -> str | None:
        found = _processes(driver, module)
        do(found)
        return None if found else f"no process of {name} was there: nothing was tried"

    def tries(folder: Path) -> Iterator[Try]:
        with study(**{"blocks": 3, "seconds": 1.0} | options) as ready:
            runs = len(ready.plan.runs)
            recovered = partial(_recovered, runs=runs, harmless=do in HARMLESS)
            yield from during(ready, folder, (1, runs), harm, recovered)

    return tries


def _recovered(folder: Path, runs: int, *, harmless: bool) -> Try:
    """Whether the fault shows, and cost one run no more than its first attempt."""
    try:
        every, last = judged(folder), latest(folder)
    except ScalingError as error:
        return Try(problem=str(error), lost=runs)
    problem = ""
    if not harmless and all(why is None for _, why in every):
        # What stops near the end of a window costs its last requests, which makes it suspect.
        words = {word for each in read_journal(folder).frame["reasons"] for word in each}
        problem = "" if words - {"machine-busy"} else "no run is labelled"
    bad = [f"{line.outcome}: {why}" for line, why in last if line.outcome != "measured"]
    if bad:
        problem = f"still not measured at the second attempt: {bad[0]}"
    return Try(problem=problem, lost=runs - len(last))


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
                yield outcome(driver, (), "" if there else f"no process of {name} was there")


def _processes(driver: Driver, module: str) -> list[psutil.Process]:
    """What serves: what the module has started, or its own process where that is nothing."""
    found: dict[psutil.Process, list[psutil.Process]] = {}
    for each in psutil.Process(driver.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if module in each.cmdline():
                found[each] = each.children(recursive=True)
    return [one for each, below in found.items() for one in below or [each]]


FAULTS: dict[str, Fault] = {
    f"{name} {word}": service(name, do)
    for name in BESIDE
    for word, do in {"stopped": stop, "slow": slow, "killed": kill}.items()
} | {
    "postgres out of connections": service("postgres", take_connections),
    "driver ended beside services": driver_ended,
}
