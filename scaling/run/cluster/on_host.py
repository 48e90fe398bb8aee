"""What the engine's worker does on a host: starts the driver, and sends on what it prints.

The driver is a process of its own, so the engine and what is measured share no interpreter. The
worker's thread sleeps until the driver has a run in its journal: nothing is polled in a window.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from scaling.run.cluster.request import Event
from scaling.run.process_tree import end_tree

if TYPE_CHECKING:
    from distributed import Worker

MODULE = "scaling.run.cluster.driver"
STOP_S = 20.0  # for a driver to end its child and its services
# What the engine does at an interval of its own accord, beside heartbeats (and keep-alive).
BEATS = ("heartbeat", "keep-alive")

_drivers: dict[str, subprocess.Popen[bytes]] = {}


def step(study: str, line: str, topic: str) -> None:
    """Give a study's driver a line, the first of which starts it, and wait until it wants another.

    What it prints is sent on meanwhile, as events of the engine's `topic`. The last one has the
    head of the journal, or how the study ended.
    """
    from distributed import get_worker

    worker = get_worker()
    if study not in _drivers:
        _drivers[study] = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # its last words, should it crash
            start_new_session=True,  # Ctrl-C is not for it
        )
    driver = _drivers[study]
    with idle(worker):
        for event in _events(driver, line):
            _send(worker, topic, event)
            if event.head is not None:
                return
            if event.state is not None:
                break
    _drivers.pop(study, None)
    _end(driver)


def stop(results: str) -> None:
    """Have the drivers of a results folder end; what they have measured stays in their journals."""
    for study in [each for each in _drivers if each.startswith(results)]:
        _end(_drivers.pop(study))


def _events(driver: subprocess.Popen[bytes], line: str) -> Iterator[Event]:
    """Give the driver a line; yield what it prints, and a failure last when it has ended."""
    assert driver.stdin
    assert driver.stdout
    with contextlib.suppress(BrokenPipeError):  # it has ended
        driver.stdin.write(line.encode() + b"\n")
        driver.stdin.flush()
    words = ""
    for printed in driver.stdout:
        try:
            event = msgspec.json.decode(printed, type=Event)
        except msgspec.DecodeError:
            words = printed.decode(errors="replace").strip()
        else:
            yield event
    _end(driver)
    yield Event(state="failed", why=f"its driver ended with exit code {driver.returncode}: {words}")


def _end(driver: subprocess.Popen[bytes]) -> None:
    """Have a driver end, in its own time if it can."""
    assert driver.stdin
    with contextlib.suppress(OSError):
        driver.stdin.close()
    try:
        driver.wait(STOP_S)
    except subprocess.TimeoutExpired:
        end_tree(driver)


def _send(worker: "Worker", topic: str, event: Event) -> None:
    worker.log_event(topic, msgspec.json.encode(event).decode())


@contextlib.contextmanager
def idle(worker: "Worker") -> Iterator[None]:
    """Have the engine's worker do nothing unasked but send heartbeats."""
    others = [each for name, each in worker.periodic_callbacks.items() if name not in BEATS]

    def each(action: str) -> None:
        for callback in others:
            getattr(callback, action)()

    worker.loop.add_callback(each, "stop")
    try:
        yield
    finally:
        worker.loop.add_callback(each, "start")
