"""The machine: its clock set, CPUs taken away, all suspended, descriptors or ports used up."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from scaling.base.errors import ScalingError
from tests.faults import namespaces
from tests.faults.attempt import Fault, NotHereError, Try
from tests.faults.drivers import PATIENCE_S, Driver, during, finished, send, start, study
from tests.faults.left_behind import left_behind
from tests.faults.records import judged, latest
from tests.support.cli import BUILD, environment

SUSPENDED_S = (60.0, 3.0)  # in the first run's window, in the second's
HOUR_S = 3_600
# Our own clock_gettime: the wall clock is ahead by what a file says, the others are the kernel's.
CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    const char *name = getenv("CLOCK_AHEAD");
    FILE *file = !failed && clock == CLOCK_REALTIME && name ? fopen(name, "r") : NULL;
    long ahead = 0;
    if (file) {
        if (fscanf(file, "%ld", &ahead) == 1) now->tv_sec += ahead;
        fclose(file);
    }
    return failed;
}
"""
ECHO: dict[str, Any] = {"workload": ("echo",), "workers": ("2",), "seconds": 1.0, "blocks": 2}


def clock_set(folder: Path) -> Iterator[Try]:
    """The wall clock jumps by an hour, forth and back, in the driver and in all that it starts."""
    library, ahead = folder / "clock.so", folder / "ahead"
    (folder / "clock.c").write_text(CLOCK)
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(folder / "clock.c")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise NotHereError("no C compiler here, to set the clock of one process alone") from None
    ahead.write_text("0")
    study_of = ("--arm", BUILD, "--workload", "echo", "--model", "threads", "--no-controls")
    small = (*study_of, "--no-aa-pairs", "--workers", "2", "--blocks", "4", "--seconds", "0.5")
    for number, step_s in enumerate((HOUR_S, -HOUR_S)):
        out = folder / str(number)
        with subprocess.Popen(
            [sys.executable, "-m", "scaling", "run", "--output", str(out), *small],
            env=environment(folder) | {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(ahead)},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            moved = 0
            while process.poll() is None:
                time.sleep(0.7)
                moved += step_s
                ahead.write_text(str(moved))
            said = process.communicate()[0]
        yield _clock_judged(out, said, process.returncode)


def _clock_judged(out: Path, said: str, code: int) -> Try:
    """Runs in which it jumped are invalid, and no duration is of an hour."""
    if code not in (0, 1) or "Traceback" in said:
        return Try(problem=said)
    found = judged(out)
    stepped = [why for _, why in found if why and "wall clock moved" in why]
    longest_s = max(line.elapsed_s or 0.0 for line, _ in found)
    if not stepped:
        return Try(problem="no run noticed that the clock was set")
    if not 0 <= longest_s < PATIENCE_S:
        return Try(problem=f"a run took {longest_s:g} s by the clock that was set")
    left = left_behind()
    return Try(processes=len(left.processes), ports=len(left.ports))


def affinity_changed(folder: Path) -> Iterator[Try]:
    """All threads of a pinned run are moved to one CPU; the run is made again."""
    cpu = min(os.sched_getaffinity(0))

    def move(driver: Driver) -> None:
        for each in _tree(driver):
            with contextlib.suppress(psutil.Error, OSError):
                for thread in each.threads():
                    os.sched_setaffinity(thread.id, {cpu})

    if len(os.sched_getaffinity(0)) == 1:
        raise NotHereError("there is one CPU here, so no thread can be moved to another")
    yield from _during(folder, move, labelled=True, pin=True)


def busy_neighbour(folder: Path) -> Iterator[Try]:
    """Other processes take all CPUs for a second."""

    def crowd(driver: Driver) -> None:
        spin = "import time; end = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
        others = [
            subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2 * (os.cpu_count() or 1))
        ]
        for each in others:
            each.wait()

    yield from _during(folder, crowd)


def suspended(folder: Path) -> Iterator[Try]:
    """The driver and all that it started stop for a time, as a laptop that sleeps."""
    spans_s = iter(SUSPENDED_S)

    def suspend(driver: Driver) -> None:
        stopped = _tree(driver)
        send(stopped, signal.SIGSTOP)
        time.sleep(next(spans_s))
        send(stopped, signal.SIGCONT)

    yield from _during(folder, suspend, labelled=True)


def descriptors_exhausted(folder: Path) -> Iterator[Try]:
    """The limit on open files is too low for the driver, its child, or their connections."""
    with study(**ECHO) as ready:
        for most in (8, 12, 16, 24, 32, 48, 64):

            def limit(most: int = most) -> None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

            yield finished(start(ready, folder / str(most), limit), codes=(0, 1, 2))


def ports_exhausted(folder: Path) -> Iterator[Try]:
    """There are fewer ports than connections."""
    with study(**ECHO) as ready:
        for ports in (0, 2, 5, 7):  # towards either worker there are 8 connections
            place = folder / str(ports)

            def limit(ports: int = ports) -> None:
                namespaces.own_network()
                span = f"40000 {40_000 + ports}"
                Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(span)

            yield finished(start(ready, place, limit), codes=(0, 1))
            silent = [line.outcome for line, why in latest(place) if why is None]
            yield Try(problem="a run without ports for it is valid" if silent else "")


def _during(
    folder: Path, do: Callable[[Driver], None], *, labelled: bool = False, **options: object
) -> Iterator[Try]:
    """Do something in a window of each run; in the end every run is in the journal.

    Runs that are `labelled` cannot be valid at the first attempt.
    """
    with study(**ECHO | options) as ready:
        runs = len(ready.plan.runs)
        complete = partial(_complete, runs=runs, labelled=labelled)
        yield from during(ready, folder, range(1, 1 + runs), do, complete)


def _complete(folder: Path, runs: int, *, labelled: bool) -> Try:
    try:
        found, every = latest(folder), judged(folder)
    except ScalingError as error:
        return Try(problem=str(error), lost=runs)
    unseen = labelled and all(why is None for _, why in every)
    return Try(
        problem="no run is labelled, although one was disturbed" if unseen else "",
        lost=runs - len(found),
    )


def _tree(driver: Driver) -> list[psutil.Process]:
    """The driver, then all that it has started."""
    root = psutil.Process(driver.pid)
    return [root, *root.children(recursive=True)]


FAULTS: dict[str, Fault] = {
    "clock set": clock_set,
    "affinity changed": affinity_changed,
    "busy neighbour": busy_neighbour,
    "everything suspended": suspended,
    "descriptors exhausted": descriptors_exhausted,
    "ports exhausted": ports_exhausted,
}
