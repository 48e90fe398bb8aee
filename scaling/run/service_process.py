"""One service process: started, ready, measured from outside, ended whatever happens.

It is no part of the measured tree. It holds the reading end of a pipe whose other end is the
driver's: when the driver is gone, killed or not, the pipe ends and the service with it.
"""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

from scaling.base.errors import ScalingError
from scaling.run.memory import full_memory
from scaling.run.process_tree import family
from scaling.run.waiting import Lines

READY_S = 30.0  # a site needs about one second; a machine under load may need more
END_S = 10.0  # to end by itself, then again after each signal
STDERR_KEPT = 2_000
CONNECTIONS, UNIX_CONNECTIONS = Path("/proc/net/tcp"), Path("/proc/net/unix")
# Of each line address and port at this end, if the state is 01.
ESTABLISHED = re.compile(rb"\n *\d+: ([0-9A-F]{8}):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 01 ")
# Of each line the path at this end, if the state is 03.
CONNECTED = re.compile(rb" 03 +\d+ (/.*)$", re.MULTILINE)


class ServiceError(ScalingError):
    """A service of a workload cannot be started, or does not work."""


class Ready(msgspec.Struct, frozen=True):
    """The line that a service prints once it answers requests.

    `pid` is the process that serves, below which the others are; 0: it was there before. `facts`
    are what figures depend on. Lines before it have no URL: they say what it is `doing`.
    """

    urls: list[str] = []
    pid: int = 0
    facts: dict[str, str] = {}
    doing: str = ""


@dataclass(frozen=True)
class Usage:
    """Memory of a service, and the CPU seconds that each of its processes has used so far, by pid.

    `ended_s` are those of processes that have ended. None and nothing once the service is `gone`,
    and of one that was there before.
    """

    rss_bytes: int | None = None
    cpu_s: Mapping[int, float] = field(default_factory=dict)
    ended_s: float = 0.0
    gone: bool = False

    @property
    def whole_s(self) -> float:
        """CPU seconds of all its processes so far."""
        return sum(self.cpu_s.values()) + self.ended_s


class ServiceProcess:
    """A running service; `urls` are where it answers, `facts` what figures depend on."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start it and wait until it reports that it is ready; `note` gets what it says before.

        Raises:
            ServiceError: it ended, reported something else, or was silent for too long.
        """
        self._name = name
        self._errors = b""
        try:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise ServiceError(
                f"the service {name!r} cannot be started: no temporary file: {error.strerror}"
            ) from None
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
            ready = self._ready(note)
            self.urls, self.facts, self._pid = ready.urls, ready.facts, ready.pid
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        """True until the service ends."""
        return self._process.poll() is None

    @property
    def stopped(self) -> bool:
        """True if a signal stopped a process of the service, which then answers nobody."""
        for each in family(self._pid) if self._pid else ():
            with contextlib.suppress(psutil.Error):  # it has just ended
                if each.status() == psutil.STATUS_STOPPED:
                    return True
        return False

    def usage(self) -> Usage:
        """Read memory and CPU time of it and its own processes."""
        if not self.running:  # its pid may be another process's by now
            return Usage(gone=True)
        if not self._pid:
            return Usage()
        rss_bytes, cpu_s, ended_s = 0, {}, 0.0
        for each in family(self._pid):
            with contextlib.suppress(psutil.Error):  # it has just ended: its parent has its time
                rss_bytes += each.memory_info().rss
                times = each.cpu_times()
                cpu_s[each.pid] = times.user + times.system
                ended_s += times.children_user + times.children_system
        return Usage(rss_bytes, cpu_s, ended_s) if self._pid in cpu_s else Usage(gone=True)

    def memory_bytes(self) -> int | None:
        """Memory of its processes in which what they share counts once; None if it is not known."""
        return full_memory(family(self._pid))["pss"] if self._pid else None

    def pids(self) -> list[int]:
        """The ids of its processes."""
        return [each.pid for each in family(self._pid)] if self._pid else []

    def connections(self, opened: Counter[str]) -> int | None:
        """The number of these connections that are to it; None for one that was there before."""
        urls = map(urlsplit, self.urls)
        places = (f"{each.hostname}:{each.port}" if each.port else each.path for each in urls)
        return sum(map(opened.__getitem__, places)) if self._pid else None

    def close(self) -> None:
        """End it: by the end of its input, by a signal, by force. Harmless when it has ended."""
        tree: list[psutil.Process] = []
        if self.running:
            tree = family(self._process.pid)
            self._process.send_signal(signal.SIGCONT)  # a stopped one would not end
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._end()
        for left_over in tree:
            with contextlib.suppress(psutil.Error):
                left_over.kill()
        if self._process.stdout:
            self._process.stdout.close()
        self._printed()  # may be asked for later
        self._stderr.close()

    def _end(self) -> None:
        for signal_it in (None, self._process.terminate, self._process.kill):
            if signal_it:
                signal_it()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
                return

    def _ready(self, note: Callable[[str], None]) -> Ready:
        assert self._process.stdout
        lines = Lines(self._process.stdout.fileno())

        def line() -> Ready:
            return msgspec.json.decode(asyncio.run(lines.next(READY_S)) or b"", type=Ready)

        try:
            while not (ready := line()).urls:
                note(ready.doing)
            return ready
        except TimeoutError:
            why = f"it was not ready after {READY_S:g} s"
        except msgspec.DecodeError:
            why = self.last_words()
        raise ServiceError(f"the service {self._name!r} did not start: {why}")

    def last_words(self) -> str:
        """Its last line of errors, or its exit code in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        text = self._printed().decode(errors="replace").strip()
        return text.rpartition("\n")[2] or describe_exit(self._process.returncode)

    def _printed(self) -> bytes:
        """The end of what it printed as errors; once it is closed, up to then."""
        if not self._stderr.closed:
            self._stderr.seek(0)
            self._errors = self._stderr.read()[-STDERR_KEPT:]
        return self._errors


def open_connections() -> Counter[str] | None:
    """The number of connections at each `127.0.0.1:5432` and each Unix socket's path here.

    A port alone would not do: clients on other addresses of the loopback range may have the same
    one. None where that is unknown.
    """
    try:
        tcp, unix = CONNECTIONS.read_bytes(), UNIX_CONNECTIONS.read_bytes()
    except OSError:
        return None
    opened = Counter(
        f"{socket.inet_ntoa(int(address, 16).to_bytes(4, sys.byteorder))}:{int(port, 16)}"
        for address, port in ESTABLISHED.findall(tcp)
    )
    opened.update(os.fsdecode(path) for path in CONNECTED.findall(unix))
    return opened


def describe_exit(code: int | None) -> str:
    """Put an exit code into words; negative ones are signals, as in `subprocess`."""
    if code is None:
        return "it printed something other than that it is ready"
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
