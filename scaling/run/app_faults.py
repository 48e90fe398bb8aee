"""What a fault does to requests: a blocked loop, a crashed worker, a restart, under an open loop.

Each configuration is served as it is deployed: threads by the program of `--write`, processes by
`uvicorn --workers`. Of threads, a crash ends all loops; they are started again at once, as a
service manager does.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaling.base.errors import ScalingError
from scaling.builds.cache import Say
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.faults import FaultRecord
from scaling.run.fault_client import BLOCK, HOST, PER_LOOP, WHO, FaultClient, Sent, have

WORKERS = 2
MOST_PER_S = 400.0  # the client's threads would be late above it
BEFORE_S, AFTER_S = 1.0, 3.0
BLOCKED_S = 1.0
READY_S, END_S = 20.0, 10.0
FAILURES = (OSError, ScalingError, http.client.HTTPException, subprocess.TimeoutExpired)
FAULTY = "workers.outside.faulty:make"


@dataclass(frozen=True)
class Deployed:
    """A configuration as it is deployed: how it is started, and how it is restarted."""

    arm: str
    model: str
    server: str
    command: tuple[str, ...]
    environment: Mapping[str, str]


class Served:
    """A deployed configuration that answers on `port`."""

    def __init__(self, deployed: Deployed) -> None:
        with socket.create_server((HOST, 0)) as free:
            self.port: int = free.getsockname()[1]
        self.deployed = deployed
        self._processes = [self._start()]
        self.until_answered()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self.deployed.command, "--port", str(self.port)],
            env=dict(self.deployed.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def until_answered(self) -> None:
        """Wait until it answers.

        Raises:
            ScalingError: it does not.
        """
        until = time.monotonic() + READY_S
        while not have(self.port, WHO):
            if self._processes[-1].poll() is not None or time.monotonic() > until:
                self.close()
                raise ScalingError(f"{self.deployed.server} does not answer")
            time.sleep(0.02)

    def start_again_if_gone(self) -> None:
        """What a service manager does."""
        if self.deployed.model == "threads":
            self._processes[-1].wait(END_S)
            self._processes.append(self._start())

    def restart(self) -> None:
        """Replace all workers while it serves."""
        old = self._processes[-1]
        if self.deployed.model != "threads":
            old.send_signal(signal.SIGHUP)  # uvicorn ends and starts one worker after the other
            return
        self._processes.append(self._start())
        # Both listen: answers come from the new one within a few tries.
        until = time.monotonic() + READY_S
        while not have(self.port, WHO).startswith(f"{self._processes[-1].pid}."):
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        old.terminate()

    def close(self) -> None:
        """End all that was started."""
        for each in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def block(served: Served) -> str:
    """Block one loop for a second; its name."""
    return have(served.port, BLOCK.format(BLOCKED_S))


def crash(served: Served) -> str:
    """Kill the process of one worker."""
    have(served.port, "/__scaling/kill")
    served.start_again_if_gone()
    return ""


def restart(served: Served) -> str:
    """Restart all workers."""
    served.restart()
    return ""


FAULTS: Mapping[str, Callable[[Served], str]] = {
    "one loop blocked for 1 s": block,
    "one worker killed": crash,
    "graceful restart": restart,
}


def measure_faults(
    arms: Mapping[str, PreparedArm],
    application: tuple[str, bool],
    requests: Sequence[Mapping[str, Any]],
    rate_per_s: float,
    program: Path,
    say: Say,
) -> list[FaultRecord]:
    """Each fault in threads and in processes; what does not answer is said and left out.

    `arms` are by model: threads and processes. `application` is its path and whether it is a
    factory; `program` is the one that serves threads.
    """
    found = []
    rate_per_s = min(rate_per_s, MOST_PER_S)
    for deployed in _deployed(arms, application, program):
        for name, fail in FAULTS.items():
            say(f"{deployed.model}: {name}")
            try:
                served = Served(deployed)
                with contextlib.closing(served):
                    found.append(measured(served, name, fail, requests, rate_per_s))
            except FAILURES as error:
                say(f"{deployed.model}: {name}: not measured: {error}")
    return found


def _deployed(
    arms: Mapping[str, PreparedArm],
    application: tuple[str, bool],
    program: Path,
) -> Iterator[Deployed]:
    threads, processes = arms.get("threads"), arms.get("processes")
    variables = {"SCALING_FAULTY": json.dumps(application)}
    more = (FAULTY, "--factory", "--workers", str(WORKERS))
    if threads:
        own = (str(threads.program), str(program), *more)
        environment = {**threads.environment, **variables}
        yield Deployed(threads.arm.name, "threads", "serve.py", own, environment)
    if processes:
        command = (str(processes.program), "-m", "uvicorn", *more, "--no-access-log")
        environment = {**processes.environment, **variables}
        yield Deployed(processes.arm.name, "processes", "uvicorn", command, environment)


def measured(
    served: Served,
    name: str,
    fail: Callable[[Served], str],
    requests: Sequence[Mapping[str, Any]],
    rate_per_s: float,
) -> FaultRecord:
    """What becomes of requests around a fault.

    Raises:
        OSError: the server does not take connections.
        ScalingError: a restart replaced no worker.
    """
    client = FaultClient(served.port, requests, WORKERS, rate_per_s)
    time.sleep(BEFORE_S)
    failed_s = time.monotonic()
    blocked = fail(served)
    time.sleep(AFTER_S)
    sent = client.stop()
    old = {each.loop for each in sent if each.due_s < failed_s}
    if fail is restart and old & {each.loop for each in sent[-len(old) * PER_LOOP :]}:
        raise ScalingError("the old workers still answer")
    return record(served.deployed, name, sent, blocked, failed_s, rate_per_s)


def record(
    deployed: Deployed,
    name: str,
    sent: Sequence[Sent],
    blocked: str,
    failed_s: float,
    rate_per_s: float,
) -> FaultRecord:
    """What became of the requests: `blocked` is the loop that was blocked, from `failed_s` on."""
    during = [
        each for each in sent if failed_s <= each.due_s <= failed_s + BLOCKED_S or not blocked
    ]
    own = [each for each in during if each.loop == blocked]
    others = [each for each in during if each.loop and each.loop != blocked]
    last = max((e.ended_s for e in sent if e.fate != "answered"), default=None)
    back = next(
        (e.ended_s for e in sent if last and e.due_s >= last and e.fate == "answered"), None
    )
    return FaultRecord(
        fault=name,
        arm=deployed.arm,
        model=deployed.model,
        server=deployed.server,
        workers=WORKERS,
        rate_per_s=rate_per_s,
        requests=len(sent),
        lost=sum(each.fate == "lost" for each in sent),
        refused=sum(each.fate == "refused" for each in sent),
        own_p99_ms=_ms(own, 0.99),
        own_max_ms=_ms(own, 1.0),
        others_p99_ms=_ms(others, 0.99),
        others_max_ms=_ms(others, 1.0),
        back_s=round(back - failed_s, 3) if back else None,
    )


def _ms(sent: Sequence[Sent], share: float) -> float | None:
    """So large a share of the answered requests was answered within this, from the due time."""
    taken = sorted(each.ended_s - each.due_s for each in sent if each.fate == "answered")
    if not taken:
        return None
    return round(taken[min(len(taken) - 1, int(share * len(taken)))] * 1_000, 1)
