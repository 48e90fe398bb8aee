"""The services of a study: started when first needed, shared by runs, ended together.

A service runs beside the child, never below it, so that its memory and CPU time are recorded
apart. One that serves other content or with another delay is another process. Runs that are alive
at the same time have copies of their own, which later runs have again.

What they use is read while a run is measured.
"""

import asyncio
import contextlib
import itertools
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from scaling.base.errors import UsageError
from scaling.journal.record import CeilingLine, ParameterValue, ServiceUse
from scaling.run.probe import ENDED, Phase
from scaling.run.redaction import without_own_paths
from scaling.run.service_process import ServiceError, ServiceProcess, Usage, open_connections
from scaling.run.waiting import until
from scaling.study.services import SERVICES, WITH_CEILING, Service, in_front

# -------------------------------------------------------------------------------------------- usage
# Use of the services of a workload during one run.

ENOUGH = 4  # readings: before, two inside the run, after
GONE = Usage(gone=True)

type Front = Callable[[Sequence[str]], list[str]]  # from URLs of servers to those of the load


class ServiceUsage:
    """The services of one run: where they are, and what they used while it ran.

    `front` starts the one that is in front of the run's servers, if there is to be one.
    """

    def __init__(self, services: Mapping[str, ServiceProcess], *, in_slices: bool = False) -> None:
        self._slices = _Slices() if in_slices else None
        self.urls = {name: list(service.urls) for name, service in services.items()}
        self.front: Front | None = None
        self._services = dict(services)
        self._readings: list[tuple[float, dict[str, Usage]]] = []
        self._opened: dict[str, Usage] = {}
        # Read at the end of the window, when all connections are still open.
        self._at_end: dict[str, ServiceUse] = {}
        self._reading: asyncio.Task[None] | None = None  # waits for the window, or a slice

    def add(self, name: str, service: ServiceProcess) -> None:
        """From now on read this one, too: it was started for this run alone."""
        self._services = {**self._services, name: service}  # in a thread: others may read it

    def read(self) -> None:
        """Take a reading of all services."""
        self._readings.append((time.monotonic(), self._usages()))

    def at(self, phase: Phase) -> None:
        """Read at a phase of the child what belongs to its window alone.

        Raises:
            Exception: what the reading since the last phase raised.
        """
        if self._reading and self._reading.done():
            done, self._reading = self._reading, None
            done.result()
        if phase.name == "resume" and self._slices:
            self._slices.pids = {name: each.pids() for name, each in self._services.items()}
        elif phase.name == "load" and self._services:
            opens_ns, *_, closes_ns = phase.facts["instants_ns"]
            slices = self._slices
            reading = slices.add(opens_ns, closes_ns) if slices else self._open(opens_ns)
            self._reading = asyncio.create_task(reading)
        elif phase.name == "closed":
            opened = open_connections() if self._services else None
            self._at_end = {
                name: ServiceUse(
                    memory_bytes=each.memory_bytes(),
                    connections=None if opened is None else each.connections(opened),
                )
                for name, each in self._services.items()
            }
        elif phase.name == ENDED and self._reading:
            self._reading.cancel()

    def end(self) -> None:
        """End its services: the next run that needs them has others."""
        for each in self._services.values():
            each.close()

    def cpu_s(self) -> float:
        """CPU seconds that the services have used so far; takes a reading."""
        self.read()
        return sum(usage.whole_s for usage in self._readings[-1][1].values())

    def use(self) -> dict[str, ServiceUse]:
        """The use of each service.

        CPU time is that of the whole run and of all processes; of a workload that is not finite
        also that of the window alone. The busy fraction is the share of a
        core that the busiest process used: a mean would hide a process that workers wait for
        behind others that idle. It covers the time between the readings that the run itself asked
        for (after its imports, at the window's end), since there is no traffic before and after. In
        turn with others it covers the slices, as the CPU time of the window does.
        """
        used = {}
        within = self._readings[1:-1] if len(self._readings) >= ENOUGH else self._readings
        for name, service in self._services.items():
            (began_s, before), (ended_s, after) = within[0], within[-1]
            inside = _busiest_s(before.get(name), after.get(name, GONE))
            last = self._readings[-1][1][name]
            busy, window_s = None, None
            if self._slices:
                busy, window_s = self._slices.busy_fraction(name), self._slices.cpu_s(name)
            else:
                if inside is not None and ended_s > began_s:
                    busy = inside / (ended_s - began_s)
                if name in self._opened:
                    window_s = _between_s(self._opened[name], after.get(name, GONE))
            used[name] = msgspec.structs.replace(
                self._at_end.get(name, ServiceUse()),
                rss_bytes=last.rss_bytes,
                cpu_s=_between_s(self._readings[0][1].get(name), last),
                busy_fraction=busy,
                window_cpu_s=window_s,
                ended=without_own_paths(service.last_words()) if last.gone else "",
                facts=service.facts,
            )
        return used

    def _usages(self) -> dict[str, Usage]:
        return {name: service.usage() for name, service in self._services.items()}

    async def _open(self, opens_ns: int) -> None:
        """Take a reading when the window opens."""
        await until(opens_ns)
        self._opened = self._usages()


class _Slices:
    """CPU time of services in the slices of a run; they have no load in between (Linux).

    A slice is too short to look for processes at its ends, so `pids` are those before it.
    """

    def __init__(self) -> None:
        self.pids: Mapping[str, Sequence[int]] = {}
        self._used_ns: Counter[tuple[str, int]] = Counter()
        self._took_ns = 0

    async def add(self, opens_ns: int, closes_ns: int) -> None:
        """Wait for both ends of a slice (monotonic), and read."""
        await until(opens_ns)
        began_ns, before = self._read()
        await until(closes_ns)
        ended_ns, after = self._read()
        self._took_ns += ended_ns - began_ns
        for each, used_ns in after.items():
            self._used_ns[each] += used_ns - before.get(each, used_ns)

    def _read(self) -> tuple[int, dict[tuple[str, int], int]]:
        found = {}
        for name, pids in self.pids.items():
            for pid in pids:
                with contextlib.suppress(OSError):  # it has ended
                    # The kernel's number of a process's CPU clock (clock_getcpuclockid).
                    found[name, pid] = time.clock_gettime_ns((~pid << 3) | 2)
        return time.monotonic_ns(), found

    def cpu_s(self, name: str) -> float | None:
        """CPU seconds of a service; None without a slice, or where nothing is known of it."""
        used_ns = [used for (each, _), used in self._used_ns.items() if each == name]
        return sum(used_ns) / 1e9 if used_ns else None

    def busy_fraction(self, name: str) -> float | None:
        """The share of a core that the busiest of its processes used."""
        used_ns = [used for (each, _), used in self._used_ns.items() if each == name]
        return max(used_ns) / self._took_ns if used_ns and self._took_ns else None


def _between_s(before: Usage | None, after: Usage) -> float | None:
    """CPU seconds between two readings; None if the service was gone at either.

    A service (None) or process that was started in between has used all of its time in between.
    """
    if not after.cpu_s or (before and before.gone):
        return None
    return after.whole_s - (before.whole_s if before else 0.0)


def _busiest_s(before: Usage | None, after: Usage) -> float | None:
    """CPU seconds between two readings of the process that used most."""
    if before and before.gone:
        return None
    earlier = before.cpu_s if before else {}
    return max(
        (used_s - earlier.get(pid, 0.0) for pid, used_s in after.cpu_s.items()), default=None
    )


# ----------------------------------------------------------------------------------------- services

CEILING_LIMIT_S = 20.0  # beyond the seconds of load itself

type Key = tuple[str, tuple[str, ...], int]  # name, its options and what it needs, which copy
type Parameters = Mapping[str, ParameterValue]


class Services:
    """Starts services with one interpreter and its environment, and ends them all at the end.

    `python` and `environment` should be the same whatever arm is measured: a service is no part
    of the comparison. `workers` is the largest number of them in any run. Services that keep data
    have a folder in `data`; `note` gets what they say while they make them.
    """

    def __init__(
        self,
        python: str,
        environment: Mapping[str, str],
        *,
        workers: int = 1,
        data: Path | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._python = python
        self._environment = environment
        self._workers = workers
        self._data = data
        self._note = note
        self._running: dict[Key, ServiceProcess] = {}
        self._lent: set[int] = set()  # copies that runs have now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def need(self, name: str, parameters: Parameters) -> list[str]:
        """Return the URLs of a service for a workload with these parameters; start it if need be.

        Raises:
            UsageError: there is no service of that name.
            ServiceError: it cannot be started.
        """
        return self._get(name, parameters, 0).urls

    @contextmanager
    def during(
        self, names: Sequence[str], parameters: Parameters, *, in_slices: bool = False
    ) -> Iterator[ServiceUsage]:
        """Have these services for the time of one run, and read what they use in it.

        No other run has them meanwhile. What the parameters put in front of the servers is started
        by `front` of the usage. `in_slices`: the window of the run is taken so.

        Raises:
            ServiceError: one of them cannot be started.
        """
        copy = next(each for each in itertools.count() if each not in self._lent)
        with ExitStack() as until_the_end:
            self._lent.add(copy)
            until_the_end.callback(self._lent.remove, copy)
            running = {}
            for each in names:
                if SERVICES[each].fresh:
                    running[each] = self._start(each, self._options(each, parameters), {})
                    until_the_end.callback(running[each].close)
                else:
                    running[each] = self._get(each, parameters, copy)
            usage = ServiceUsage(running, in_slices=in_slices)
            name = in_front(parameters)

            def start(urls: Sequence[str]) -> list[str]:
                assert name
                started = self._start(name, [*self._options(name, parameters), *urls], {})
                until_the_end.callback(started.close)
                usage.add(name, started)
                return started.urls

            usage.front = start if name else None
            usage.read()
            yield usage
            usage.read()

    def ceiling(self, name: str, parameters: Parameters, *, seconds: float = 1.0) -> CeilingLine:
        """Load a service with a client that only counts; return what it can deliver at most.

        Raises:
            ServiceError: it could not be loaded.
        """
        urls = self.need(name, parameters)
        kind = WITH_CEILING[name]
        options = [*kind.load_options(parameters), f"--seconds={seconds}"]
        try:
            answer = subprocess.run(
                [self._python, "-m", f"{kind.module}.ceiling", *urls, *options],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self._environment),
                timeout=seconds + CEILING_LIMIT_S,
                check=True,
            ).stdout
            figures = msgspec.json.decode(answer, type=dict[str, float])
            return CeilingLine(
                service=name,
                parameters=kind.parameters_of(parameters),
                processes=len(urls),
                requests_per_s=figures["requests_per_s"],
                mbytes_per_s=figures["mbytes_per_s"],
            )
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        except (subprocess.TimeoutExpired, OSError, msgspec.DecodeError, KeyError) as error:
            why = str(error)
        raise ServiceError(
            f"the ceiling of the service {name!r} could not be measured ({why}); "
            f"figures will not show it"
        )

    def end(self, name: str) -> None:
        """End a service that is not needed any more."""
        self._end_of(each for each in self._running if each[0] == name)

    def _end_of(self, keys: Iterable[Key]) -> None:
        for key in list(keys):
            self._running.pop(key).close()

    def close(self) -> None:
        """End all services."""
        while self._running:
            self._running.popitem()[1].close()

    def _get(self, name: str, parameters: Parameters, copy: int) -> ServiceProcess:
        needs = {each: self._get(each, parameters, copy).urls[0] for each in _known(name).needs}
        options = self._options(name, parameters)
        key = name, (*options, *needs.values()), copy
        service = self._running.get(key)
        if service is None or service.usage().gone or service.stopped:
            if service:
                service.close()
            if copy:  # its place is taken, so that copies are never more than runs at a time
                self._end_of(each for each in self._running if (each[0], each[2]) == (name, copy))
            self._running[key] = service = self._start(name, options, needs)
        return service

    def _options(self, name: str, parameters: Parameters) -> list[str]:
        kind = _known(name)
        options = kind.options(parameters)
        if kind.processes(self._workers) > 1:
            options.append(f"--processes={kind.processes(self._workers)}")
        if kind.program:
            options.append(f"--program={kind.found_program or kind.program}")
        if kind.keeps and self._data:
            options.append(f"--cache={self._data}")
        return options

    def _start(
        self, name: str, arguments: Sequence[str], needs: Mapping[str, str]
    ) -> ServiceProcess:
        """Start a service; it finds the URLs of those that it `needs` in its environment."""
        command = [self._python, "-m", _known(name).module, "--until-eof", *arguments]
        places = {SERVICES[each].installed: url for each, url in needs.items()}
        return ServiceProcess(name, command, {**self._environment, **places}, self._note)


def _known(name: str) -> Service:
    if name not in WITH_CEILING:
        raise UsageError(f"no service is called {name!r}; there are: {', '.join(SERVICES)}")
    return WITH_CEILING[name]
