"""The common part of services that start a native program, such as PostgreSQL or nginx.

A small process in Python starts the program, reports that it answers, and ends it. It is a
child of the driver, and the program is its child: each ends when its parent does.
"""

import argparse
import asyncio
import contextlib
import fcntl
import importlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import IO

from workers.services.serving import CHUNK_BYTES, STDIN
from workers.system import ends_with_this_process, free_port

# ------------------------------------------------------------------------------------------- folder
# A folder for the time of one server: locked while it is in use, removed at the end.
#
# A service that is killed leaves its folder behind, without the lock. The next service removes it.

PREFIX = "scaling-service-"


@dataclass(frozen=True)
class Folder:
    """A server's folder, which is in use as long as a process has `lock`, a descriptor, open."""

    path: str
    lock: int


@contextlib.contextmanager
def own_folder(parent: str | None = None, prefix: str = PREFIX) -> Iterator[Folder]:
    """Make a folder in `parent` (else where temporary files are) for the time of the block.

    Raises:
        OSError: none can be made or locked there.
    """
    place = parent or tempfile.gettempdir()
    remove_abandoned(place, prefix)
    made = _made(place, prefix)
    while made is None:  # another process took it for an abandoned one
        made = _made(place, prefix)
    try:
        yield made
    finally:
        shutil.rmtree(made.path, ignore_errors=True)
        os.close(made.lock)


def _made(place: str, prefix: str) -> Folder | None:
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    try:
        lock = _locked(path)
    except OSError:
        os.rmdir(path)
        raise
    if lock is not None and os.path.exists(path):
        return Folder(path, lock)
    if lock is not None:
        os.close(lock)
    return None


def remove_abandoned(place: str, prefix: str = PREFIX) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name.startswith(prefix) and (lock := _locked(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _locked(path: str) -> int | None:
    """Lock a folder; None if it is in use, gone, or another user's.

    Raises:
        OSError: its file system has no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


# ------------------------------------------------------------------------------------------ process
# A program started, ready, ended, whatever happens to the process that starts it.
#
# The kernel ends it with its parent. PostgreSQL and pgbouncer refuse to run as root: when root
# starts them, they run in a user namespace in which they are another user. They can use root's
# files there, and nothing on the machine has to be changed.

LOG = "log"
READY_S = 20.0
END_S = 5.0  # then it is killed
AGAIN_S = 0.02  # between two tries to connect
TRIES = 5  # another process may take the free port first
TAKEN = "ddress already in use"
NOBODY = "nobody"
NO_NAMESPACE = (
    "does not run as root, and this system permits no user namespace in which it would run as "
    "another user: start the study as a user other than root"
)


class NativeError(RuntimeError):
    """A program does not run or does not do its part; the message is one line."""


@dataclass(frozen=True)
class Program:
    """A server program: its command for a port, and a check that it answers.

    `command` writes what it needs into its folder and returns the command. `answers` raises
    `OSError` as long as it does not. `ends_by` makes it end, and `ends_in_s` is how long that may
    take.
    """

    name: str
    command: Callable[[int], Sequence[str]]
    answers: Callable[[int], Awaitable[object]]
    ends_by: signal.Signals = signal.SIGTERM
    ends_in_s: float = END_S


@dataclass(frozen=True)
class Server:
    """A program that answers on `port`."""

    program: Program
    port: int
    process: Process
    folder: Folder

    async def ended(self) -> str:
        """Wait until it ends by itself; say how."""
        code = await self.process.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"{self.program.name} ended {how}: {last_words(self.folder)}"


@asynccontextmanager
async def serving(program: Program, folder: Folder) -> AsyncIterator[Server]:
    """Run the program on a free port during the block.

    Raises:
        NativeError: it ends or does not answer; says what it printed last.
    """
    for left in reversed(range(TRIES)):
        port = free_port()
        command = program.command(port)
        async with started(command, folder, program.ends_by, program.ends_in_s) as process:
            try:
                await _until_it_answers(program, port, process, folder)
            except NativeError:
                if left and any(TAKEN in line for line in _printed(folder)):
                    continue
                raise
            yield Server(program, port, process, folder)
            return


@asynccontextmanager
async def started(
    command: Sequence[str],
    folder: Folder,
    ends_by: signal.Signals = signal.SIGKILL,
    ends_in_s: float = END_S,
) -> AsyncIterator[Process]:
    """Run a process during the block; its output goes to the folder's `log`.

    Raises:
        NativeError: it cannot be started.
    """
    with _log_of(folder) as log:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                cwd=folder.path,
                pass_fds=(folder.lock,),
                start_new_session=True,
                preexec_fn=_before_it_runs(ends_by),  # this process has one thread
            )
        except OSError as error:
            why = f"{command[0]} cannot be started: {error.strerror or error}"
            raise NativeError(why) from None
        except subprocess.SubprocessError:  # of `preexec_fn`
            raise NativeError(f"{command[0]} {NO_NAMESPACE}") from None
    try:
        yield process
    finally:
        await _end(process, ends_by, ends_in_s)


async def done(command: Sequence[str], folder: Folder) -> None:
    """Run a command to its end.

    Raises:
        NativeError: it failed; says what it printed last.
    """
    async with started(command, folder) as process:
        if await process.wait():
            raise NativeError(f"{os.path.basename(command[0])} failed: {last_words(folder)}")


def _log_of(folder: Folder) -> IO[bytes]:
    return open(os.path.join(folder.path, LOG), "wb")


def last_words(folder: Folder) -> str:
    """The last line that the program printed, of errors if there are any."""
    lines = _printed(folder)
    worst = [line for line in lines if any(word in line for word in ("FATAL", "[emerg]"))]
    return (worst or lines or ["it printed nothing"])[-1]


def _printed(folder: Folder) -> list[str]:
    with open(os.path.join(folder.path, LOG), encoding="utf-8", errors="replace") as log:
        return [line.strip() for line in log if line.strip()]


async def _until_it_answers(program: Program, port: int, process: Process, folder: Folder) -> None:
    deadline = asyncio.get_running_loop().time() + READY_S
    while True:
        if process.returncode is not None:
            raise NativeError(f"{program.name} does not start: {last_words(folder)}")
        try:
            await program.answers(port)
        except OSError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise NativeError(
                    f"{program.name} does not answer after {READY_S:.0f} s: {error}"
                ) from None
            await asyncio.sleep(AGAIN_S)
        else:
            return


async def _end(process: Process, ends_by: signal.Signals, ends_in_s: float) -> None:
    if process.returncode is None:
        process.send_signal(ends_by)
        process.send_signal(signal.SIGCONT)  # a stopped one would not end
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), ends_in_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it has left behind
    await process.wait()


def _before_it_runs(ends_by: signal.Signals) -> Callable[[], None]:
    """Return the function that the new process calls before it becomes the program."""
    end_with_us = ends_with_this_process(ends_by)
    user, group = os.geteuid(), os.getegid()
    somebody = None if user else pwd.getpwnam(NOBODY)

    def prepare() -> None:
        if somebody:
            os.unshare(os.CLONE_NEWUSER)
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{somebody.pw_uid} {user} 1"),
                ("gid_map", f"{somebody.pw_gid} {group} 1"),
            ):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        end_with_us()

    return prepare


# ------------------------------------------------------------------------------------------ program
# A service that starts a program: options, one line of JSON once it answers, its end.


@dataclass(frozen=True)
class Announced:
    """The URLs of a service, its facts, and its server; None: one that was there before."""

    urls: list[str]
    facts: dict[str, str] = field(default_factory=dict)
    server: Server | None = None


type Running = Callable[[], AbstractAsyncContextManager[Announced]]


def require(parser: argparse.ArgumentParser, module: str) -> None:
    """Import a client before anything is started; end with exit code 1 if it is missing."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        parser.exit(1, f"{parser.prog}: a package is missing: {error}\n")


def say(text: str) -> None:
    """Report a step that takes a while, so that the driver waits longer."""
    print(json.dumps({"doing": text}), flush=True)


def run(parser: argparse.ArgumentParser, *, until_eof: bool, running: Running) -> int:
    """Serve until asked to stop; return the exit code (1: failed, with one line that says why)."""
    try:
        asyncio.run(_run(running, until_eof=until_eof))
    except (NativeError, OSError, subprocess.SubprocessError) as error:
        parser.exit(1, f"{error}\n")
    return 0


async def _run(running: Running, *, until_eof: bool) -> None:
    requested = _stop_requested(until_eof=until_eof)
    serving = asyncio.create_task(_until_it_ends(running))
    stop = asyncio.create_task(requested.wait())
    await asyncio.wait([serving, stop], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    serving.cancel()  # harmless once it is done
    try:
        await serving
    except asyncio.CancelledError:
        return


async def _until_it_ends(running: Running) -> None:
    async with running() as announced:
        server = announced.server
        line = {
            "urls": announced.urls,
            "pid": server.process.pid if server else 0,
            "facts": announced.facts,
        }
        print(json.dumps(line), flush=True)
        if server:
            raise NativeError(await server.ended())
        await asyncio.Event().wait()


def _stop_requested(*, until_eof: bool) -> asyncio.Event:
    """Return an event that is set by a signal, or when standard input ends.

    Without a thread, unlike `workers.services.serving`: this process forks.
    """
    loop, requested = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        if not os.read(STDIN, CHUNK_BYTES):
            loop.remove_reader(STDIN)
            requested.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, requested.set)
    if until_eof:
        try:
            loop.add_reader(STDIN, read)
        except OSError:  # a file, which cannot be waited for
            requested.set()
    return requested
