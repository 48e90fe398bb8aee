"""An application served as it is deployed, to see what faults and a long load do to it.

N loops in threads are served by the program of `--write`; processes, and threads without loops, by
servers that people use. Of threads, a crash ends all loops: they are started again at once, as a
service manager does.
"""

import contextlib
import http.client
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scaling.base.errors import ScalingError
from scaling.builds.prepared_arm import PreparedArm
from scaling.run.app_requests import send
from scaling.run.redaction import LOOPBACK
from scaling.study.application import COMMANDS, SERVE, arguments

# ------------------------------------------------------------------------------------- fault client
# Sends requests at fixed times and keeps the outcome of each: for the seconds around a fault.

WHO = "/__scaling/who"  # answered with the loop's name (workers/outside/faulty.py)
BLOCK = "/__scaling/block?{}"  # for so many seconds
KILL = "/__scaling/kill"
LIMIT_S = 10.0
PER_LOOP, TRIES = 8, 100
AWAY_S = 0.1

type Fate = Literal["answered", "lost", "refused"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: the loop it was sent to (empty: refused), when it was due and when it ended."""

    loop: str
    due_s: float
    ended_s: float
    fate: Fate


class FaultClient:
    """So many connections, each with its share of an open loop's requests, in a thread each."""

    def __init__(
        self, port: int, requests: Sequence[Mapping[str, Any]], loops: int, rate_per_s: float
    ) -> None:
        """Connect to all `loops` evenly, then begin.

        Raises:
            OSError: nobody listens.
        """
        made = evenly(port, loops)
        connections = len(made)
        self.sent: list[Sent] = []
        self._port = port
        self._requests = requests
        self._every_s = connections / rate_per_s
        self._stop = threading.Event()
        start_s = time.monotonic() + 0.1
        self._threads = [
            threading.Thread(
                target=self._send,
                args=(start_s + index / rate_per_s, index, *each),
                daemon=True,
            )
            for index, each in enumerate(made)
        ]
        for each in self._threads:
            each.start()

    def stop(self) -> list[Sent]:
        """End; all that was sent."""
        self._stop.set()
        for each in self._threads:
            each.join(LIMIT_S)
        return sorted(self.sent, key=lambda each: each.due_s)

    def _send(
        self, due_s: float, index: int, made: http.client.HTTPConnection | None, loop: str
    ) -> None:
        while not self._stop.wait(max(0.0, due_s - time.monotonic())):
            fate: Fate = "answered"
            try:
                if made is None or is_closed(made):
                    if made:
                        made.close()
                    made, loop = None, ""
                    made = connection(self._port)
                    loop = ask(made, WHO)
                send(made, self._requests[index % len(self._requests)])
                answer = made.getresponse()
                answer.read()
                if answer.will_close:
                    made.close()
                    made = None
            except (OSError, http.client.HTTPException):
                fate = "lost" if loop else "refused"
                if made:
                    made.close()
                made = None
            self.sent.append(Sent(loop, due_s, time.monotonic(), fate))
            due_s += self._every_s
            index += 1
        if made:
            made.close()


def evenly(port: int, loops: int) -> list[tuple[http.client.HTTPConnection, str]]:
    """The same number of connections to each loop, with its name.

    Of processes with one listener, the kernel prefers one that is idle. One that has its share is
    therefore blocked for a moment.
    """
    found: dict[str, list[http.client.HTTPConnection]] = {}
    for _ in range(TRIES):
        made = connection(port)
        of_loop = found.setdefault(ask(made, WHO), [])
        if len(of_loop) < PER_LOOP:
            of_loop.append(made)
        else:
            threading.Thread(target=_block, args=(made,)).start()
            time.sleep(AWAY_S / 2)
        if len(found) == loops and all(len(each) == PER_LOOP for each in found.values()):
            break
    return [(made, loop) for loop, of_loop in found.items() for made in of_loop]


def _block(made: http.client.HTTPConnection) -> None:
    with (
        contextlib.closing(made),
        contextlib.suppress(OSError, http.client.HTTPException),
    ):
        ask(made, BLOCK.format(AWAY_S))


def is_closed(made: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection: a client does not send on it."""
    return made.sock is None or bool(select.select([made.sock], [], [], 0)[0])


def connection(port: int) -> http.client.HTTPConnection:
    """A connection to the server.

    Raises:
        OSError: nobody listens.
    """
    made = http.client.HTTPConnection(LOOPBACK, port, timeout=LIMIT_S)
    made.connect()
    return made


def ask(made: http.client.HTTPConnection, path: str) -> str:
    """The body of an answer."""
    made.request("GET", path)
    return made.getresponse().read().decode(errors="replace")


def have(port: int, path: str) -> str:
    """Ask on a connection of its own; empty if there was no answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        made = connection(port)
        with contextlib.closing(made):
            return ask(made, path)
    return ""


# ----------------------------------------------------------------------------------------- deployed

WORKERS = 2
APPLICATION = "workers.outside.faulty:make"  # the user's, with paths at which it fails
READY_S, END_S = 20.0, 10.0
# Where it listens, and how it is kept quiet.
LISTENING = {
    SERVE: "--port {port}",
    "uvicorn": "--port {port} --no-access-log",
    "gunicorn": f"--bind {LOOPBACK}:{{port}} --keep-alive 75 --no-control-socket",
}
# The same class, which is deprecated in uvicorn itself, but needs no other package there.
UVICORN_WORKER = {"uvicorn_worker.UvicornWorker": "uvicorn.workers.UvicornWorker"}


@dataclass(frozen=True)
class Deployed:
    """A configuration as it is deployed. `command` has `{port}` in it.

    `apart` is how many of its workers a client can tell apart: threads of WSGI share connections.
    """

    arm: str
    model: str
    server: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    apart: int = WORKERS


def deployed(
    arms: Mapping[str, PreparedArm],
    application: tuple[str, bool],
    interface: str,
    program: Path | None,
) -> Iterator[Deployed]:
    """The configuration of each model in `arms` that the interface has.

    `application` is its path and whether it is a factory; `program` is the one that serves threads,
    where there is one for that interface.
    """
    faulty = {"SCALING_FAULTY": json.dumps([*application, interface])}
    for model, arm in arms.items():
        if model not in COMMANDS[interface]:
            continue
        server, _ = COMMANDS[interface][model]
        text = arguments(interface, model, APPLICATION, WORKERS, factory=True)
        words = shlex.split(f"{text} {LISTENING[server]}")
        own = {SERVE: str(program), **UVICORN_WORKER}
        yield Deployed(
            arm=arm.arm.name,
            model=model,
            server=server,
            command=(arm.program, *(own.get(word, word) for word in words)),
            environment={**arm.environment, **faulty},
            apart=1 if (interface, model) == ("wsgi", "threads") else WORKERS,
        )


class Served:
    """A deployed configuration that answers on `port`."""

    def __init__(self, deployed: Deployed) -> None:
        """Start it, and wait until it answers.

        Raises:
            ScalingError: it does not.
        """
        with socket.create_server((LOOPBACK, 0)) as free:
            self.port: int = free.getsockname()[1]
        self.deployed = deployed
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._processes = [self._start()]
        try:
            self._until_answered()
        except BaseException:  # Ctrl-C, too: the server is in a session of its own
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process that was started last."""
        return self._processes[-1].pid

    @property
    def exit_code(self) -> int | None:
        """That of this process; negative is a signal; None while it runs."""
        return self._processes[-1].poll()

    def _start(self) -> subprocess.Popen[bytes]:
        port = str(self.port)
        return subprocess.Popen(
            [each.replace("{port}", port) for each in self.deployed.command],
            env=dict(self.deployed.environment),
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._printed,
            start_new_session=True,
        )

    def _until_answered(self) -> None:
        until = time.monotonic() + READY_S
        while not have(self.port, WHO):
            if self.exit_code is not None or time.monotonic() > until:
                words = self._last_words()
                raise ScalingError(f"{self.deployed.server} does not answer: {words}")
            time.sleep(0.02)

    def start_again_if_gone(self) -> None:
        """What a service manager does; uvicorn and gunicorn start their workers themselves."""
        if self.deployed.server == SERVE:
            self._processes[-1].wait(END_S)
            self._processes.append(self._start())

    def restart(self) -> None:
        """Replace all workers while it serves."""
        old = self._processes[-1]
        if self.deployed.server != SERVE:
            old.send_signal(signal.SIGHUP)
            return
        self._processes.append(self._start())
        # Both listen: answers come from the new one within a few tries.
        until = time.monotonic() + READY_S
        while not have(self.port, WHO).startswith(f"{self.pid}."):
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        old.terminate()

    def _last_words(self) -> str:
        """What it printed last."""
        self._printed.seek(0)
        words = self._printed.read().decode(errors="replace").strip()
        return words.rpartition("\n")[2].strip() or "it printed nothing"

    def close(self) -> None:
        """End all that was started."""
        self._printed.close()
        for each in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()
