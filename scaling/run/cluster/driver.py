"""`python -m scaling.run.cluster.driver`: does on a host what `scaling run` does.

It reads a request on standard input, prepares what it needs, and measures when there is another
line. It prints an event for each thing to know, as a line of JSON. When its standard input ends,
whoever asked is gone: it stops as with Ctrl-C, and its journal stays.
"""

import contextlib
import io
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import msgspec

from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.file import FILE_NAME
from scaling.machine.identity import describe_machine
from scaling.run.cluster.request import decode_request
from scaling.run.measure import Prepared, head, measure, prepared
from scaling.run.progress import RUNS, PlainLines
from scaling.run.session import InterruptedStudyError
from scaling.run.time_left import Left

INTERRUPTED = "interrupted"
CHUNK_BYTES = 1 << 16


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the driver prints. `done` of `total` runs are in the journal, which has grown.

    `head` is the first line that the journal has or will have, `held_bytes` its length so far,
    `journal` a part of it. The last event is `ended`, or has an `error` that the user should see.
    """

    say: str | None = None
    done: int | None = None
    total: int | None = None
    head: str | None = None
    held_bytes: int | None = None
    journal: str | None = None
    ended: bool = False
    error: str | None = None


class Events:
    """Prints events; one that nobody reads is dropped."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Print one."""
        with contextlib.suppress(OSError):
            self._stream.write(msgspec.json.encode(event) + b"\n")
            self._stream.flush()


class Lines(io.StringIO):
    """A console's output, each line as an event."""

    def __init__(self, emit: Events) -> None:
        super().__init__()
        self._emit = emit

    def write(self, text: str) -> int:
        """Send on what is not blank."""
        if text.strip():
            self._emit(Event(say=text.rstrip()))
        return len(text)


class Reported(PlainLines):
    """What a pipe would show, and an event after each run."""

    def __init__(self, emit: Events) -> None:
        super().__init__(new_console(file=Lines(emit)))
        self._emit = emit

    def begin(self, total: int, done: int, again: int = 0, what: str = RUNS) -> None:
        """Say how many there are."""
        super().begin(total, done, again, what)
        self._emit_count()

    def finished(self, run: str, figure: str, left: Left) -> None:
        """Say that the journal has grown."""
        super().finished(run, figure, left)
        self._emit_count()

    def _emit_count(self) -> None:
        if self._what == RUNS:  # those of a calibration are in no journal
            self._emit(Event(done=self._done, total=self._total))


class Asked:
    """The lines of standard input; when it ends, so does this process, as with Ctrl-C."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = queue.SimpleQueue[bytes]()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> bytes:
        """Wait for the next one."""
        return self._lines.get()

    def _read(self) -> None:
        torn = b""
        while chunk := os.read(self._descriptor, CHUNK_BYTES):
            *whole, torn = (torn + chunk).split(b"\n")
            for line in whole:
                self._lines.put(line)
        os.kill(os.getpid(), signal.SIGINT)


def main(asked: Asked, emit: Events) -> int:
    """Prepare a study, measure it when asked to; return the exit code."""
    try:
        request = decode_request(asked.next())
        with prepared(
            request.options, request.wanted, lambda text: emit(Event(say=text)), request.load_file
        ) as ready:
            folder = request.folder(dict(os.environ))
            emit(_prepared(ready, folder))
            asked.next()
            measure(ready, folder, Reported(emit), again=False)
        emit(Event(ended=True))
    except (InterruptedStudyError, KeyboardInterrupt):
        emit(Event(error=INTERRUPTED))
        return InterruptedStudyError.exit_code
    except ScalingError as error:
        emit(Event(error=str(error)))
        return error.exit_code
    except msgspec.DecodeError as error:
        why = "install the same version of asyncio-scaling here and on all hosts"
        emit(Event(error=f"the request cannot be read ({error}): {why}"))
        return UsageError.exit_code
    return 0


def _prepared(ready: Prepared, folder: Path) -> Event:
    machine = describe_machine(ready.topology)
    first = head(
        ready.plan, ready.arms, machine, pins=ready.pins, workers_source=ready.workers_source
    )
    journal = folder / FILE_NAME
    held_bytes = journal.stat().st_size if journal.exists() else 0
    return Event(head=msgspec.json.encode(first).decode(), held_bytes=held_bytes)


if __name__ == "__main__":
    # Who starts us in the background may have Ctrl-C ignored; here it is how we are stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(Asked(sys.stdin.fileno()), Events(sys.stdout.buffer)))
