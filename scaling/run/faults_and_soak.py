"""What faults and a long load do to an application that is served as it is deployed.

A fault is a blocked worker, a crashed one or a restart, under an open loop: what becomes of
requests. A long load at one rate is a soak: what becomes of memory, read from outside.
"""

import contextlib
import http.client
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import psutil

from scaling.base import formats
from scaling.base.errors import ScalingError
from scaling.builds.cache import Say
from scaling.journal.beside import FaultRecord, SoakRecord
from scaling.journal.record import Load
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
from scaling.run.load import Generator, GeneratorProgram, LoadError
from scaling.run.probe import full_memory, with_descendants
from scaling.run.redaction import LOOPBACK

# ------------------------------------------------------------------------------------------- faults

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


# --------------------------------------------------------------------------------------------- soak

PARTS = 20  # of a run, each with its memory
SAMPLES = 10  # of memory in each part
SHORTEST_SOAK_S = 10.0
LEAD_S, WARMUP_S = 0.2, 0.5
PER_WORKER = 16  # connections
MIB = 2.0**20
OF_FREE = 0.8  # of the memory that is free: a leak must not take the machine's


def measure_soak(
    configurations: Iterable[Deployed],
    generators: GeneratorProgram,
    rate_per_s: float,
    duration_s: float,
    limit_bytes: float | None,
    say: Say,
) -> list[SoakRecord]:
    """One run of each configuration; one that does not answer is reported and left out.

    A run ends when its memory reaches `limit_bytes`, by default most of what is free.
    """
    found = []
    for deployed in configurations:
        say(f"{deployed.model}: memory in {formats.duration(duration_s)} of load")
        limit = limit_bytes or OF_FREE * psutil.virtual_memory().available
        try:
            with contextlib.closing(Served(deployed)) as served:
                found.append(soak(served, generators, rate_per_s, duration_s, limit))
        except (OSError, ScalingError) as error:
            say(f"{deployed.model}: memory under load: not measured: {error}")
    return found


def soak(
    served: Served,
    generators: GeneratorProgram,
    rate_per_s: float,
    duration_s: float,
    limit_bytes: float,
) -> SoakRecord:
    """One run.

    Raises:
        LoadError: the load could not be sent.
    """
    asked = Load(rate_per_s=rate_per_s, connections=PER_WORKER * WORKERS, seed=1)
    load: Load | None = None
    with contextlib.closing(Generator(generators, asked, WARMUP_S)) as generator:
        generator.start()
        generator.connect([f"http://{LOOPBACK}:{served.port}"], [{"path": "/"}])
        opens_ns = time.monotonic_ns() + round((LEAD_S + WARMUP_S) * 1e9)
        every_ns = round(duration_s / PARTS * 1e9)
        instants_ns = [opens_ns + part * every_ns for part in range(PARTS + 1)]
        generator.begin(instants_ns)
        watched = _Watched(served, limit_bytes)
        memory = list(watched.parts(instants_ns))
        if not watched.ended:
            try:
                load = generator.result()
            except LoadError as error:
                watched.ended = str(error)
    deployed = served.deployed
    return SoakRecord(
        arm=deployed.arm,
        model=deployed.model,
        server=deployed.server,
        workers=WORKERS,
        rate_per_s=rate_per_s,
        duration_s=duration_s,
        parts=PARTS,
        memory_mib=memory,
        kind=watched.kind or "PSS",
        requests=load.completed if load else None,
        errors=sum(load.errors.values()) if load else None,
        ended=watched.ended,
    )


class _Watched:
    """The memory of a server's processes, until it is gone or has too much; `ended` says which.

    All of it is of one `kind`, that of the first sample: PSS where the system has it, else RSS.
    """

    def __init__(self, served: Served, limit_bytes: float) -> None:
        self._served = served
        self._limit_bytes = limit_bytes
        self.ended = ""
        self.kind = ""

    def parts(self, instants_ns: Sequence[int]) -> Iterator[float | None]:
        """The median of each part between two instants, MiB; the last may be shorter.

        None is a part in which nothing could be read, because processes came and went.
        """
        for begins_ns, ends_ns in pairwise(instants_ns):
            seen: list[float] = []
            for sample in range(1, SAMPLES + 1):
                at_ns = begins_ns + (ends_ns - begins_ns) * sample // SAMPLES
                time.sleep(max(0.0, (at_ns - time.monotonic_ns()) / 1e9))
                seen += self._read()
                if self.ended:
                    break
            if seen or not self.ended:
                yield round(statistics.median(seen), 3) if seen else None
            if self.ended:
                return

    def _read(self) -> list[float]:
        """One sample, MiB; none while a process comes or goes."""
        code = self._served.exit_code
        if code is not None:
            self.ended = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return []
        found: dict[str, Any] = full_memory(with_descendants([self._served.pid]))
        if not self.kind and found["rss"] is not None:
            self.kind = "RSS" if found["pss"] is None else "PSS"
        used_bytes = found["rss" if self.kind == "RSS" else "pss"]
        if used_bytes is None:
            return []
        if used_bytes > self._limit_bytes:
            limit = f"{formats.number(self._limit_bytes / MIB)} MiB"
            self.ended = f"stopped at the memory limit of {limit}"
        return [used_bytes / MIB]
