"""A program started, ready, ended, whatever happens to the process that starts it.

The kernel ends it with its parent. PostgreSQL and pgbouncer refuse to run as root: when root starts
them, they run in a user namespace in which they are another user. They can use root's files there,
and nothing on the machine has to be changed.
"""

import asyncio
import contextlib
import os
import pwd
import signal
import subprocess
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from workers.services.native.folder import Folder
from workers.starting import ends_with_this_process, free_port

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
    """How a server is started on a port, and how to find out that it answers.

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
    """Have the program on a free port while the block runs.

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
    """Have a process while the block runs; what it prints is in the folder's `log`.

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
    """What the program printed last."""
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
    """What the new process does before it becomes the program."""
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
