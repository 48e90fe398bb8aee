"""A study on one host of a cluster: the request, what the engine's worker does, and the driver.

A request and its answers are JSON, so that no code is sent. The driver is a process of its own,
`python -m scaling.run.cluster.on_host`, so the engine and what is measured share no interpreter.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import msgspec
from msgspec import Meta

from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.base.files import text_in
from scaling.journal.beside import State
from scaling.journal.file import FILE_NAME
from scaling.journal.record import StudyLine
from scaling.machine.identity import state_folder
from scaling.run.measure import ChildNeeds, measure, prepared, running_build
from scaling.run.process_tree import end_tree
from scaling.run.progress import RUNS, PlainLines
from scaling.run.session import InterruptedStudyError
from scaling.run.time_left import Left
from scaling.study.definition import Options, Study
from scaling.study.file import (
    DEFAULT_STUDY,
    StudyFile,
    built_in_studies,
    load_study_file,
    read_study,
    study_from,
)

if TYPE_CHECKING:
    from distributed import Worker

# ------------------------------------------------------------------------------------------ request

RESOURCES = {"host": 1}  # what a task takes of a host: one at a time
LABEL = r"^[a-z0-9][a-z0-9-]{0,30}$"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A study as the command line asks for it, with the text of its file, for one host.

    `results` is the random id of the results folder, `label` the name of the host in it; on the
    host both are parts of a path.
    """

    results: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    label: Annotated[str, Meta(pattern=LABEL)]
    options: Options
    wanted: ChildNeeds
    study_text: str | None = None

    @classmethod
    def of(cls, options: Options, wanted: ChildNeeds, results: str, label: str) -> Self:
        """The request of a command line.

        Raises:
            UsageError: there is no such study file.
        """
        study, sent = options.study or DEFAULT_STUDY, copy(options)
        built_in = study in built_in_studies()
        sent.study = study if built_in else Path(study).name
        if "arms" not in {**load_study_file(study).values, **options.flags}:
            # Ours: a host may run on another.
            sent.flags = {**options.flags, "arms": (running_build(),)}
        return cls(
            results=results,
            label=label,
            options=sent,
            wanted=wanted,
            study_text=None if built_in else text_in(Path(study)),
        )

    @property
    def asked(self) -> Study:
        """The study itself, as far as it can be known without an environment.

        Raises:
            UsageError: an unknown name or a value that makes no sense.
        """
        return study_from(self.options, running_build=running_build(), file=self.file)

    @property
    def file(self) -> StudyFile | None:
        """The study file that the request has the text of; None for a built-in one."""
        text, name = self.study_text, self.options.study or DEFAULT_STUDY
        return None if text is None else read_study(text, name)

    def folder(self, environment: dict[str, str]) -> Path:
        """The folder on the host that has its journal."""
        return state_folder(environment) / "hosts" / self.results / self.label

    @property
    def name(self) -> str:
        """What its host calls it."""
        return self.results + self.label


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a driver prints, and its host sends. `total` runs will be in the journal, so far.

    `head` is the first line that the journal has or will have, `held_bytes` its length so far, and
    `journal` what it has got since. The last event has a `state`, and `why` for the user.
    """

    say: str | None = None
    total: int | None = None
    head: StudyLine | None = None
    held_bytes: int = 0
    journal: str = ""
    state: State | None = None
    why: str = ""


# ------------------------------------------------------------------------------------------- worker
# What the engine's worker does: it starts the driver, and sends on what that prints. The worker's
# thread sleeps until the driver has a run in its journal: nothing is polled in a window.

MODULE = "scaling.run.cluster.on_host"
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


# ------------------------------------------------------------------------------------------- driver
# It does what `scaling run` does. It reads a request on standard input, prepares what it needs, and
# measures when there is another line: how many bytes of the journal are copied already, and the
# copy if the host has lost its own. It prints an event for each thing to know, as a line of JSON.
# When its standard input ends, whoever asked is gone: it stops as with Ctrl-C, and its journal
# stays.

CHUNK_BYTES = 1 << 20


def emit(event: Event) -> None:
    """Print an event; one that nobody reads is dropped."""
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
        sys.stdout.buffer.flush()


class Reported(PlainLines):
    """What a pipe would show, as events; and what the journal has got, after each run."""

    def __init__(self, journal: Path, sent_bytes: int) -> None:
        super().__init__(new_console())
        self._journal = journal
        self._sent_bytes = sent_bytes

    def begin(self, total: int, done: int, again: int = 0, what: str = RUNS) -> None:
        """Say how many there are."""
        super().begin(total, done, again, what)
        self._send_journal()

    def finished(self, run: str, figure: str, left: Left) -> None:
        """Say that the journal has grown."""
        super().finished(run, figure, left)
        self._send_journal()

    def _send_journal(self) -> None:
        if self._what != RUNS:  # those of a calibration are in no journal
            return
        emit(Event(total=self._total))
        with self._journal.open("rb") as file:
            file.seek(self._sent_bytes)
            while lines := file.readlines(CHUNK_BYTES):
                emit(Event(journal=b"".join(lines).decode()))
            self._sent_bytes = file.tell()

    def _print(self, text: str) -> None:
        emit(Event(say=text))


def asked(descriptor: int) -> queue.SimpleQueue[bytes]:
    """The lines of standard input; when it ends, so does this process, as with Ctrl-C."""
    lines = queue.SimpleQueue[bytes]()

    def read() -> None:
        with open(descriptor, "rb", closefd=False) as stdin:
            for line in stdin:
                lines.put(line)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=read, daemon=True).start()
    return lines


def main(lines: queue.SimpleQueue[bytes]) -> int:
    """Prepare a study, measure it when asked to; return the exit code."""
    try:
        request = msgspec.json.decode(lines.get(), type=Request)
        with prepared(
            request.options, request.wanted, lambda text: emit(Event(say=text)), request.file
        ) as ready:
            journal = request.folder(dict(os.environ)) / FILE_NAME
            held_bytes = journal.stat().st_size if journal.exists() else 0
            emit(Event(head=ready.first_line(), held_bytes=held_bytes))
            copied_bytes, copy = msgspec.json.decode(lines.get(), type=tuple[int, str | None])
            if copy is not None:
                journal.parent.mkdir(parents=True, exist_ok=True)
                journal.write_text(copy, encoding="utf-8")
            measure(ready, journal.parent, Reported(journal, copied_bytes), again=False)
        emit(Event(state="complete"))
    except (InterruptedStudyError, KeyboardInterrupt):
        emit(Event(state="interrupted"))
        return InterruptedStudyError.exit_code
    except ScalingError as error:
        emit(Event(state="failed", why=str(error)))
        return error.exit_code
    except msgspec.DecodeError as error:
        why = "install the same version of asyncio-scaling here and on all hosts"
        emit(Event(state="failed", why=f"the request cannot be read ({error}): {why}"))
        return UsageError.exit_code
    return 0


if __name__ == "__main__":
    # Who starts us in the background may have Ctrl-C ignored; here it is how we are stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(asked(sys.stdin.fileno())))
