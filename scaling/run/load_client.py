"""A program that sends requests to the servers of a run: load generator, or client of a check."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from scaling.base.errors import ScalingError
from scaling.journal.record import Load
from scaling.run.probe import Phase
from scaling.run.service_process import describe_exit
from scaling.run.waiting import Lines, ended, send

GONE_S = 3.0  # from the last word of a client to its end


class LoadError(ScalingError):
    """The load could not be sent; the message is one line for the record."""


class Client:
    """A program that sends requests to the servers of one run, at the phases of its child.

    It gets lines of JSON, and prints such lines. What is waited for is cancelled when the child
    ends; then it is stopped and closed. `result` is what it measured, once the window is over.
    `secrets` are what answers set as cookies, and what was saved of them, in each spelling; None
    where that is not known, or too much to look for.
    """

    def __init__(
        self,
        name: str,
        python: str,
        module: str,
        environment: Mapping[str, str],
        options: Sequence[str] = (),
    ) -> None:
        """`name` is for messages."""
        self.result: Load | None = None
        self.secrets: set[str] | None = set()
        self._name = name
        self._module = module
        self._command = [python, "-m", module, *options]
        self._environment = environment
        self._failure: LoadError | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: Lines | None = None
        self._stderr: IO[bytes] | None = None

    def start(self) -> None:
        """Start it: it does its imports while the child does.

        Where that fails, it says so when the workers answer.
        """
        try:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=dict(self._environment),
                start_new_session=True,  # Ctrl-C is the driver's; and all of it can be killed
            )
        except OSError as error:
            self._failure = LoadError(f"{self._name} cannot be started: {error.strerror or error}")
            return
        assert self._process.stdout
        self._lines = Lines(self._process.stdout.fileno())

    async def at(self, phase: Phase) -> dict[str, Any]:
        """Do its part at a phase of the child, which waits, and return what to reply.

        Raises:
            LoadError: that failed.
        """
        raise NotImplementedError

    def cpu_s(self) -> float:
        """CPU seconds that it has used so far, where anybody asks."""
        return 0.0

    def stop(self) -> None:
        """End its sending: the child has ended."""
        self.kill()

    def kill(self) -> None:
        """End all its processes at once; harmless when they have ended."""
        # A process that is not reaped yet keeps its number, and with it that of the session.
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it and let go of its streams."""
        self.kill()
        if self._process is not None:
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        if self._stderr:
            self._stderr.close()

    async def _send(self, document: Mapping[str, Any]) -> None:
        if self._failure:
            raise self._failure
        if self._process and self._process.stdin:  # if it is gone, its next line says why
            await send(self._process.stdin.fileno(), json.dumps(document).encode() + b"\n")

    async def _line(self, limit_s: float | None) -> bytes:
        """The next line of its output.

        Raises:
            LoadError: it has ended, or prints nothing for so long.
        """
        assert self._lines
        try:
            line = await self._lines.next(limit_s)
        except TimeoutError:
            raise LoadError(f"{self._name} printed nothing for {limit_s:.0f} s: it hangs") from None
        if line is None:
            raise LoadError(f"{self._name} ended: {await self._last_words()}")
        return line

    async def _last_words(self) -> str:
        assert self._process
        assert self._stderr
        await ended(self._process, GONE_S)
        self.kill()  # what it has left behind
        code = self._process.wait()
        self._stderr.seek(0)
        words = self._stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
        return words.removeprefix(f"python -m {self._module}: ") or describe_exit(code)
