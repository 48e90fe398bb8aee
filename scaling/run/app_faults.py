"""What a fault does to requests: a blocked worker, a crashed one, a restart, under an open loop."""

import contextlib
import http.client
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scaling.base.errors import ScalingError
from scaling.builds.cache import Say
from scaling.journal.beside import FaultRecord
from scaling.run.deployed import (
    BLOCK,
    KILL,
    PER_LOOP,
    WORKERS,
    Deployed,
    FaultClient,
    Sent,
    Served,
    have,
)

MOST_PER_S = 400.0  # the client's threads would be late above it
BEFORE_S, AFTER_S = 1.0, 3.0
REPLACED_S = 30.0  # limit: uvicorn ends and starts one worker after the other
BLOCKED_S = 1.0
FAULT_S = 8.0  # what one takes, with the start of the server
FAILURES = (OSError, ScalingError, http.client.HTTPException, subprocess.TimeoutExpired)


def block(served: Served) -> str:
    """Block one worker for a second, as a synchronous call in a coroutine does; its name.

    Raises:
        ScalingError: it did not answer, so nobody knows which one was blocked.
    """
    name = have(served.port, BLOCK.format(BLOCKED_S))
    if not name:
        raise ScalingError("the worker that was to be blocked did not answer")
    return name


def crash(served: Served) -> str:
    """Kill the process of one worker."""
    have(served.port, KILL)
    served.start_again_if_gone()
    return ""


def restart(served: Served) -> str:
    """Restart all workers."""
    served.restart()
    return ""


FAULTS: Mapping[str, Callable[[Served], str]] = {
    "one worker blocked for 1 s": block,
    "one worker killed": crash,
    "graceful restart": restart,
}


def measure_faults(
    configurations: Iterable[Deployed],
    requests: Sequence[Mapping[str, Any]],
    rate_per_s: float,
    say: Say,
) -> list[FaultRecord]:
    """Each fault in each configuration; one that does not answer is reported and left out."""
    found = []
    rate_per_s = min(rate_per_s, MOST_PER_S)
    for deployed in configurations:
        for name, fail in FAULTS.items():
            say(f"{deployed.model}: {name}")
            try:
                served = Served(deployed)
                with contextlib.closing(served):
                    found.append(measured(served, name, fail, requests, rate_per_s))
            except FAILURES as error:
                say(f"{deployed.model}: {name}: not measured: {error}")
    return found


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
        ScalingError: no worker could be blocked, none died, or a restart did not replace all.
    """
    client = FaultClient(served.port, requests, served.deployed.apart, rate_per_s)
    try:
        time.sleep(BEFORE_S)
        old = {each.loop for each in client.sent}
        failed_s = time.monotonic()
        blocked = fail(served)
        time.sleep(AFTER_S)
        until_s = failed_s + REPLACED_S
        if fail is crash and not _replaced(client, old, 1, until_s):
            raise ScalingError(f"no worker died: all still answer after {REPLACED_S:.0f} s")
        if fail is restart and not _replaced(client, old, len(old), until_s):
            raise ScalingError(f"the old workers still answer after {REPLACED_S:.0f} s")
    finally:
        sent = client.stop()
    return record(served.deployed, name, sent, blocked, failed_s, rate_per_s)


def _replaced(client: FaultClient, old: set[str], count: int, until_s: float) -> bool:
    """Wait until so many old loops have none of the last requests; whether that came in time."""
    while len(old - {each.loop for each in client.sent[-len(old) * PER_LOOP :]}) < count:
        if time.monotonic() > until_s:
            return False
        time.sleep(0.1)
    return True


def record(
    deployed: Deployed,
    name: str,
    sent: Sequence[Sent],
    blocked: str,
    failed_s: float,
    rate_per_s: float,
) -> FaultRecord:
    """The outcomes of the requests: `blocked` is the loop that was blocked, from `failed_s` on."""
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
    """The time from due to answer that this share of the answered requests did not exceed, ms."""
    taken = sorted(each.ended_s - each.due_s for each in sent if each.fate == "answered")
    if not taken:
        return None
    return round(taken[min(len(taken) - 1, int(share * len(taken)))] * 1_000, 1)
