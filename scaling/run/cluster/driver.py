"""`python -m scaling.run.cluster.driver`: does on a host what `scaling run` does.

It reads a request on standard input, prepares what it needs, and measures when there is another
line: how many bytes of the journal are copied already, and the copy if the host has lost its own.
It prints an event for each thing to know, as a line of JSON. When its standard input ends, whoever
asked is gone: it stops as with Ctrl-C, and its journal stays.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from pathlib import Path

import msgspec

from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.file import FILE_NAME
from scaling.run.cluster.request import Event, Request
from scaling.run.measure import measure, prepared
from scaling.run.progress import RUNS, PlainLines
from scaling.run.session import InterruptedStudyError
from scaling.run.time_left import Left

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
            request.options, request.wanted, lambda text: emit(Event(say=text)), request.load_file
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
