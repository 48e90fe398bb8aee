"""The part of a host of a cluster: it runs `scaling run` as a process, and returns the journal.

A worker of dask.distributed calls these functions by their names, so no code is sent; a request and
its answer are JSON. The process shares no interpreter with the worker, which does nothing while a
window is open but send heartbeats.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock, Timeout

from scaling.analysis.extent import incomplete
from scaling.analysis.table.load import read_journal
from scaling.base.errors import ScalingError
from scaling.base.version import __version__
from scaling.journal.file import FILE_NAME
from scaling.machine.identity import state_folder

if TYPE_CHECKING:
    from distributed import Worker

# A worker that was started in the background may have Ctrl-C ignored, and its processes with it.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from scaling.cli import main; main()"
)
FOLDER = "study"
JOURNAL_ALONE = "SCALING_JOURNAL_ALONE"  # whoever asked makes tables, plots and page of it
PROGRESS = "["  # what a line of progress begins with: [1/16] block 1 of 8 done
HEARTBEATS = ("heartbeat", "keep-alive")  # of the worker's periodic callbacks

_processes: dict[str, subprocess.Popen[str]] = {}  # by topic


class Request(msgspec.Struct, frozen=True):
    """A request to a host: the `arguments` of `scaling run`.

    `files` are texts by name, as of a study file that an argument names. `journal` is what the
    asker has of it. Lines of progress are events of the worker's `topic`.
    """

    arguments: list[str]
    files: dict[str, str] = {}
    journal: str = ""
    topic: str = ""
    scaling: str = __version__


class Answer(msgspec.Struct, frozen=True):
    """The `journal` as far as it came; the last line of the process says why no further."""

    journal: str
    last_line: str = ""


def lacks(folder: Path) -> str:
    """The part that the study in a folder lacks, in words; empty if it is complete."""
    try:
        found = read_journal(folder)
    except ScalingError as error:
        return str(error)
    return incomplete(found.frame, found.study, found.notes)


def measure(text: str) -> str:
    """Measure what is missing of a `Request`; return an `Answer`.

    The host keeps its folder until `forget`: what a lost connection did not bring back is not
    measured again.
    """
    from distributed import get_worker

    request = msgspec.json.decode(text, type=Request)
    if request.scaling != __version__:
        versions = f"scaling {__version__} is installed there, {request.scaling} here"
        return msgspec.json.encode(Answer("", f"{versions}: install the same")).decode()
    folder = _folder(request)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name("lock"), timeout=0):
            answer = _measured(request, folder, get_worker())
    except Timeout:
        answer = Answer("", "another study is being measured on this machine")
    return msgspec.json.encode(answer).decode()


def stop(topic: str) -> None:
    """End the process of a request as with Ctrl-C."""
    if process := _processes.get(topic):
        process.send_signal(signal.SIGINT)


def forget(text: str) -> None:
    """Remove the folder of a `Request`: whoever asked has the journal."""
    shutil.rmtree(_folder(msgspec.json.decode(text, type=Request)), ignore_errors=True)


def _folder(request: Request) -> Path:
    """The folder of a study: one, whoever asks for it."""
    asked = msgspec.json.encode((request.arguments, request.files))
    return state_folder(os.environ) / "hosts" / hashlib.sha256(asked).hexdigest()[:16]


def _measured(request: Request, folder: Path, worker: "Worker") -> Answer:
    journal = folder / FOLDER / FILE_NAME
    for name, text in request.files.items():
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    if request.journal and not journal.exists():
        journal.write_text(request.journal, encoding="utf-8")
    line = ""
    if lacks(journal.parent):
        task = worker.state.tasks[worker.get_current_task()]
        with quiet(worker), _started(request, folder) as process:
            assert process.stdout
            for line in map(str.rstrip, process.stdout):
                if line.startswith(PROGRESS):
                    worker.log_event(request.topic, f"{worker.name}: {line}")
                if task.state == "cancelled":  # whoever asked is gone
                    stop(request.topic)
    # `scaling run` takes another folder beside that of another machine or build.
    journals = sorted(folder.glob(f"*/{FILE_NAME}"), key=lambda file: file.stat().st_mtime_ns)
    found = journals[-1].read_text(encoding="utf-8") if journals else ""
    whole, newline, _ = found.rpartition("\n")
    return Answer(whole + newline, line)


@contextmanager
def _started(request: Request, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", "-P", "-c", PROGRAM, "run", *request.arguments]
    with subprocess.Popen(
        [*command, "--output", FOLDER],
        cwd=folder,
        env={**os.environ, JOURNAL_ALONE: "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # Ctrl-C in the worker's terminal is not for it
    ) as process:
        _processes[request.topic] = process
        yield process
    del _processes[request.topic]


@contextmanager
def quiet(worker: "Worker") -> Iterator[None]:
    """Have the worker do nothing of its own accord but send heartbeats."""
    others = [each for name, each in worker.periodic_callbacks.items() if name not in HEARTBEATS]
    for each in others:
        worker.loop.add_callback(each.stop)
    try:
        yield
    finally:
        for each in others:
            worker.loop.add_callback(each.start)
