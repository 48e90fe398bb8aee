"""The services of a study: started when first needed, shared by runs, ended together.

A service runs beside the child, never below it, so that its memory and CPU time are recorded
apart. One that serves other content or with another delay is another process. Runs that are alive
at the same time have copies of their own, which later runs have again.
"""

import itertools
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from scaling.base.errors import UsageError
from scaling.journal.record import CeilingLine, ParameterValue
from scaling.run.service_process import ServiceError, ServiceProcess
from scaling.run.service_usage import ServiceUsage
from scaling.study.services import SERVICES, WITH_CEILING, Service, in_front

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
            until_the_end.callback(usage.close)
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
