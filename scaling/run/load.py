"""The load of one run: a generator started beside the child, connected when its workers answer.

The generator is outside the measured tree. It gets the instants of the workers' window, so that
both measure the same seconds, and ends when its standard input does: with the driver at the latest.
"""

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import psutil

from scaling.journal.record import Load
from scaling.machine.topology import Topology, cpus_of
from scaling.run.load_client import Client, LoadError
from scaling.run.probe import Phase
from scaling.run.process_tree import family
from scaling.run.redaction import spellings

MODULE = "workers.services.load"
# Limits for a generator that hangs. Its own are shorter, so that it can say what was missing.
CONNECT_S = 30.0
CONNECT_EACH_S = 0.006
END_S = 20.0  # after the last instant
SECRETS_MOST = 100_000  # that are looked for in what an application says

# Fields of `Load` under the names that the generator prints; those of rooms only if it has any.
PRINTED = ["offered", "completed", "errors", "declined", "busy_fraction", "cpu_s", "processes"]
PRINTED += ["python", "gil", "loop", "timer", "slice_ns"]
OF_ROOMS = ("rooms", "delivered_per_s")
# Histograms of `Load`, and what the generator calls them (`workers.services.load.summary`).
HISTOGRAMS = {name: name for name in ("latency", "service", "first_byte", "background", "slip")}
HISTOGRAMS["unfinished"] = "censored"


@dataclass(frozen=True, kw_only=True)
class GeneratorProgram:
    """The start of generators: the interpreter, its environment, the number of processes.

    With a `topology` they get CPUs that no worker has, where there are enough. `requests` are sent
    instead of those that the workload names.
    """

    python: str
    environment: Mapping[str, str]
    processes: int = 1
    topology: Topology | None = None
    requests: Sequence[Mapping[str, Any]] = ()


class Generator(Client):
    """The load generator of one run."""

    def __init__(
        self,
        program: GeneratorProgram,
        asked: Load,
        warmup_s: float,
        cpus: Sequence[int] | None = None,
        *,
        in_slices: bool = False,
    ) -> None:
        """`asked` says what is to be sent. It begins `warmup_s` before the window.

        `cpus` are for the generator alone; None leaves it to the kernel. `in_slices`: it pauses
        between slices of the window; for a closed loop.
        """
        self._in_slices = in_slices
        self._warmup_s = warmup_s
        self._asked = asked
        options = self._options(program.processes)
        super().__init__("the load generator", program.python, MODULE, program.environment, options)
        self._is_sending = False
        self._slice_s = self._request_s = 0.0
        self._requests = program.requests
        self._cpus = cpus
        self._cpus_found: list[int] = []
        self._closes_ns = 0
        self._cpu_s = 0.0

    def start(self) -> None:
        """Start it, on CPUs of its own where it has any."""
        super().start()
        if self._process and self._cpus is not None:
            with contextlib.suppress(OSError):  # what is read back shows it
                # Its processes are started after this, so they are where it is.
                os.sched_setaffinity(self._process.pid, self._cpus)

    async def at(self, phase: Phase) -> dict[str, Any]:
        """Connect when the workers answer, send when there are instants, collect at the end.

        After a slice it replies how long a request took. At the end it replies how many answers
        came in each part of the window, whenever they were due: a child that measures a command
        from outside cannot count them.
        """
        facts = phase.facts
        if phase.name == "serving":
            await self.connect(facts["urls"], facts["requests"])
        elif phase.name == "load":
            await self.begin(facts["instants_ns"])
        elif phase.name == "turn":
            return {"request_s": await self._pause()}
        elif phase.name == "resume":
            await self._resume()
        elif phase.name == "closed":
            worker_cpus = None if self._cpus is None else cpus_of(facts["pids"])
            self.result = await self._measured(worker_cpus)
            return {"answered": [each.received for each in self.result.windows]}
        return {}

    async def connect(self, urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
        """Have it make all its connections to these servers.

        Raises:
            LoadError: it ended, or a server was not reached.
        """
        asked = list(self._requests or requests)
        await self._send({"urls": list(urls), "requests": asked})
        await self._line(CONNECT_S + CONNECT_EACH_S * self._asked.connections)
        if any(each.get("save") for each in self._requests):  # it is known with the result
            self.secrets = None
        self._cpus_found = cpus_of(each.pid for each in self._tree())
        if self._in_slices:
            await self._resume()
            begins_ns = time.monotonic_ns()
            ends_ns = begins_ns + max(1, round(self._warmup_s * 1e9))
            await self._begin([begins_ns, ends_ns], counts=False)
            await self._pause()

    async def begin(self, instants_ns: Sequence[int]) -> None:
        """Have it send from its warm-up before the first instant until the last, or in a slice."""
        self._closes_ns = instants_ns[-1]
        if self._in_slices:
            await self._begin(instants_ns, counts=True)
        else:
            await self._send({"instants_ns": list(instants_ns)})

    async def _resume(self) -> None:
        """Have it send, and wait until it does."""
        await self._send({"resume": True})
        await self._line(END_S)
        self._is_sending = True

    async def _begin(self, instants_ns: Sequence[int], *, counts: bool) -> None:
        self._closes_ns = instants_ns[-1]
        self._slice_s = (instants_ns[-1] - instants_ns[0]) / 1e9
        await self._send({"instants_ns": list(instants_ns), "counts": counts})

    async def _pause(self) -> float:
        """Wait until it says that all is answered; return how long a request took on average, s.

        That of the last slice again if it has sent nothing since, 0 before the first.
        """
        if self._is_sending:
            self._is_sending = False
            left_s = (self._closes_ns - time.monotonic_ns()) / 1e9
            answered = json.loads(await self._line(max(left_s, 0.0) + END_S))["sent"]
            # Little's law. Without an answer a request takes longer than the slice.
            self._request_s = self._asked.connections * self._slice_s / max(answered, 1)
        return self._request_s

    def cpu_s(self) -> float:
        """CPU seconds that its processes have used so far; the last reading once they are gone."""
        with contextlib.suppress(psutil.Error):
            times = [each.cpu_times() for each in self._tree()]
            used_s = sum(sum((t.user, t.system, t.children_user, t.children_system)) for t in times)
            self._cpu_s = max(self._cpu_s, used_s)
        return self._cpu_s

    async def _measured(self, worker_cpus: list[int] | None) -> Load:
        """Wait for what it measured."""
        if self._in_slices:
            await self._send({})
        left_s = (self._closes_ns - time.monotonic_ns()) / 1e9
        line = await self._line(max(left_s, 0.0) + END_S)
        try:
            printed = msgspec.json.decode(line, type=dict[str, Any])
            secrets, load = printed["secrets"], self._load(printed, worker_cpus)
        except (msgspec.DecodeError, KeyError) as error:
            raise LoadError(f"the load generator printed no result: {error}") from None
        self.secrets = spellings(secrets) if len(secrets) < SECRETS_MOST else None
        return load

    def _load(self, printed: Mapping[str, Any], worker_cpus: list[int] | None) -> Load:
        """The load with the figures that were printed.

        Raises:
            KeyError: one of them is missing.
        """
        windows = printed["windows"]
        fields = msgspec.to_builtins(self._asked)
        fields |= {name: printed[name] for name in PRINTED}
        fields |= {name: printed.get(name) for name in OF_ROOMS}
        fields |= {
            "achieved_per_s": printed["rate_per_s"],
            "windows": [
                {"answered": each["completed"], "received": each["received"]} for each in windows
            ],
            "cpus": None if self._cpus is None else self._cpus_found,
            "worker_cpus": worker_cpus,
        }
        for name, own in HISTOGRAMS.items():
            fields[name] = _together([each[own] for each in windows])
        return msgspec.convert(fields, Load)

    def _options(self, processes: int) -> list[str]:
        asked = self._asked
        rate = "max" if asked.rate_per_s is None else f"{asked.rate_per_s}"
        options = [
            "-",  # servers and requests come later, on standard input
            f"--rate={rate}",
            f"--arrivals={asked.arrivals}",
            f"--connections={asked.connections}",
            f"--processes={min(processes, asked.connections)}",
            f"--seed={asked.seed}",
            f"--warmup={self._warmup_s}",
        ]
        if asked.overload:
            parts = asked.overload.factor, asked.overload.after_s, asked.overload.lasts_s
            options += ["--overload", *map(str, parts)]
        options += ["--slices"] * self._in_slices
        return [*options, *["--no-keepalive"] * (not asked.keep_alive), *SWITCHES]

    def _tree(self) -> list[psutil.Process]:
        return [] if self._process is None else family(self._process.pid)


SWITCHES = ("--json", "--histograms", "--instants")


def _together(histograms: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    """The sum of some histograms, as `Latency` has it."""
    counts: Counter[int] = Counter()
    for each in histograms:
        counts.update(dict(zip(each["value_ns"], each["count"], strict=True)))
    values = sorted(counts)
    return {"value_ns": values, "count": [counts[value] for value in values]}
