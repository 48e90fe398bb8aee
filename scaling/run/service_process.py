"""One service process: started, ready, measured from outside, ended whatever happens.

It is no part of the measured tree. It holds the reading end of a pipe whose other end is the
driver's: when the driver is gone, killed or not, the pipe ends and the service with it.
"""

import contextlib
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import psutil

from scaling.base.errors import ScalingError

READY_S = 30.0  # a site needs about one second; a machine under load may need more
END_S = 3.0  # to end by itself, then again after each signal
STDERR_KEPT = 2_000


class ServiceError(ScalingError):
    """A service of a workload cannot be started, or does not work."""


class Ready(msgspec.Struct, frozen=True):
    """The line that a service prints once it answers requests."""

    urls: list[str]
    pid: int


@dataclass(frozen=True)
class Usage:
    """What a service holds, and the CPU seconds that each of its processes has used so far, by pid.

    None and nothing once it is gone.
    """

    rss_bytes: int | None = None
    cpu_s: Mapping[int, float] = field(default_factory=dict)


class ServiceProcess:
    """A running service; `urls` are where it answers."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it and wait until it reports that it is ready.

        Raises:
            ServiceError: it ended, reported something else, or was silent for too long.
        """
        self._name = name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=dict(environment),
                start_new_session=True,  # Ctrl-C is the driver's to handle
            )
        except OSError as error:
            self._stderr.close()
            raise ServiceError(
                f"the service {name!r} cannot be started: {command[0]}: {error.strerror}"
            ) from None
        try:
            self.urls = self._ready().urls
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def usage(self) -> Usage:
        """Read memory and CPU time of it and its own processes."""
        if not self.running:  # its pid may be another process's by now
            return Usage()
        try:
            processes = self._tree()
            rss_bytes = sum(each.memory_info().rss for each in processes)
            times = {each.pid: each.cpu_times() for each in processes}
        except psutil.Error:
            return Usage()
        return Usage(rss_bytes, {pid: each.user + each.system for pid, each in times.items()})

    def close(self) -> None:
        """End it: by the end of its input, by a signal, by force. Harmless when it has ended."""
        tree: list[psutil.Process] = []
        if self.running:
            with contextlib.suppress(psutil.Error):
                tree = self._tree()
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._end()
        for left_over in tree:
            with contextlib.suppress(psutil.Error):
                left_over.kill()
        if self._process.stdout:  # only now: a thread may be reading from it
            self._process.stdout.close()
        self._stderr.close()

    def _end(self) -> None:
        for signal_it in (None, self._process.terminate, self._process.kill):
            if signal_it:
                signal_it()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
                return

    def _tree(self) -> list[psutil.Process]:
        root = psutil.Process(self._process.pid)
        return [root, *root.children(recursive=True)]

    def _ready(self) -> Ready:
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

        def listen() -> None:
            if self._process.stdout:
                with contextlib.suppress(ValueError):  # closed while we waited
                    lines.put(self._process.stdout.readline())

        threading.Thread(target=listen, name="service", daemon=True).start()
        try:
            return msgspec.json.decode(lines.get(timeout=READY_S), type=Ready)
        except queue.Empty:
            why = f"it was not ready after {READY_S:g} s"
        except msgspec.DecodeError:
            why = self._last_words()
        raise ServiceError(f"the service {self._name!r} did not start: {why}")

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._stderr.seek(0)
        text = self._stderr.read()[-STDERR_KEPT:].decode(errors="replace").strip()
        return text.rpartition("\n")[2] or describe_exit(self._process.returncode)


def describe_exit(code: int | None) -> str:
    """Put an exit code into words; negative ones are signals, as in `subprocess`."""
    if code is None:
        return "it printed something other than that it is ready"
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
