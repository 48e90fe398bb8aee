"""An application served as it is deployed, to see what faults and a long load do to it.

N loops in threads are served by the program of `--write`; processes, and threads without loops, by
servers that people use. Of threads, a crash ends all loops: they are started again at once, as a
service manager does.
"""

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.builds.prepared_arm import PreparedArm
from scaling.run.fault_client import WHO, have
from scaling.run.path_redaction import LOOPBACK
from scaling.study.deploying import COMMANDS, SERVE, arguments

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
