"""The memory of a deployed configuration under a long load at one rate, read from outside."""

import contextlib
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import psutil

from scaling.base import formats
from scaling.base.errors import ScalingError
from scaling.builds.cache import Say
from scaling.journal.beside import SoakRecord
from scaling.journal.record import Load
from scaling.run.deployed import WORKERS, Deployed, Served
from scaling.run.load import Generator, GeneratorProgram, LoadError
from scaling.run.probe import full_memory, with_descendants
from scaling.run.redaction import LOOPBACK
from scaling.study.load import LoadAsked

PARTS = 20  # of a run, each with its memory
SAMPLES = 10  # of memory in each part
SHORTEST_S = 10.0
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
    asked = LoadAsked(
        rate_per_s=rate_per_s,
        arrivals="poisson",
        keep_alive=True,
        connections=PER_WORKER * WORKERS,
        seed=1,
        warmup_s=WARMUP_S,
    )
    load: Load | None = None
    with contextlib.closing(Generator(generators, asked)) as generator:
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
