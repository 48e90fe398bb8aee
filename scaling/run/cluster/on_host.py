"""What the engine's worker does on a host: starts the driver, and sends on what its journal gets.

The driver is a process of its own, so the engine and what is measured share no interpreter. The
worker's thread sleeps until the driver has a run in its journal: nothing is polled in a window.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scaling.journal.file import FILE_NAME
from scaling.run.cluster.driver import Event
from scaling.run.cluster.request import Request, decode_request
from scaling.run.process_tree import end_tree

if TYPE_CHECKING:
    from distributed import Worker

MODULE = "scaling.run.cluster.driver"
STOP_S = 20.0  # for a driver to end its child and its services
# What the engine does at an interval of its own accord, beside heartbeats (and keep-alive).
BEATS = ("heartbeat", "keep-alive")
CHUNK_BYTES = 1 << 20

_drivers: dict[str, subprocess.Popen[bytes]] = {}


class Sent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a host sends while it works: `text` of its journal from byte `offset` on, and a note."""

    label: str
    say: str | None = None
    done: int | None = None
    total: int | None = None
    offset: int = 0
    text: str = ""


def prepare(request: str, topic: str) -> str:
    """Make what the study needs on this host; return the driver's event with the first line.

    What takes time is sent as notes, events of the engine's `topic`. The driver waits.
    """
    asked, worker = decode_request(request), _worker()
    driver = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # its last words, should it crash
        start_new_session=True,  # Ctrl-C is not for it
    )
    _drivers[_key(asked)] = driver

    def passed_on() -> Iterator[Event]:
        for event in _events(asked, request):
            if event.say:
                _send(worker, topic, Sent(label=asked.label, say=event.say))
            yield event

    return _until(passed_on(), lambda event: event.head is not None)


def measure(request: str, copy: str | None, offset: int, topic: str) -> str:
    """Measure what remains; return the driver's last event.

    The journal is sent from byte `offset` on, as events of the engine's `topic`. `copy` is a
    journal for a host that has lost its own.
    """
    asked, worker = decode_request(request), _worker()
    journal = asked.folder(dict(os.environ)) / FILE_NAME
    if copy is not None:
        journal.parent.mkdir(parents=True, exist_ok=True)
        journal.write_text(copy, encoding="utf-8")

    def passed_on() -> Iterator[Event]:
        nonlocal offset
        for event in _events(asked, "measure"):
            for text in _grown(journal, offset):
                _send(worker, topic, Sent(label=asked.label, offset=offset, text=text))
                offset += len(text.encode())
            if event.say or event.total:
                note = Sent(label=asked.label, say=event.say, done=event.done, total=event.total)
                _send(worker, topic, note)
            yield event

    try:
        with idle(worker):
            return _until(passed_on(), lambda event: event.ended)
    finally:
        _end(_drivers.pop(_key(asked)))


def rest(request: str, offset: int) -> str:
    """An event with the journal from byte `offset` on: what got lost on its way."""
    journal = decode_request(request).folder(dict(os.environ)) / FILE_NAME
    event = Event(journal="".join(_grown(journal, offset)), ended=True)
    return msgspec.json.encode(event).decode()


def stop(results: str) -> None:
    """Have the drivers of a results folder end; what they have measured stays in their journals."""
    for key, driver in list(_drivers.items()):
        if key.startswith(results):
            _end(driver)


def _worker() -> "Worker":
    from distributed import get_worker

    return get_worker()


def _key(request: Request) -> str:
    return request.results + request.label


def _events(request: Request, line: str) -> Iterator[Event]:
    """Give the driver a line; yield what it prints, and an error last when it has ended."""
    driver = _drivers[_key(request)]
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
    yield Event(error=f"its driver ended with exit code {driver.returncode}: {words}")


def _end(driver: subprocess.Popen[bytes]) -> None:
    """Have a driver end, in its own time if it can."""
    assert driver.stdin
    with contextlib.suppress(OSError):
        driver.stdin.close()
    try:
        driver.wait(STOP_S)
    except subprocess.TimeoutExpired:
        end_tree(driver)


def _until(events: Iterator[Event], is_meant: Callable[[Event], bool]) -> str:
    """The event that is meant, or the error instead."""
    found = next(event for event in events if event.error is not None or is_meant(event))
    return msgspec.json.encode(found).decode()


def _grown(journal: Path, offset: int) -> Iterator[str]:
    """The whole lines from byte `offset` on, some at a time."""
    if not journal.exists():
        return
    with journal.open("rb") as file:
        file.seek(offset)
        while lines := file.readlines(CHUNK_BYTES):
            whole = [line for line in lines if line.endswith(b"\n")]
            yield b"".join(whole).decode()
            if len(whole) < len(lines):
                return


def _send(worker: "Worker", topic: str, sent: Sent) -> None:
    worker.log_event(topic, msgspec.json.encode(sent).decode())


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
