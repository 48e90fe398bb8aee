"""The helpers that workloads talk to: started when first needed, shared by runs, ended together.

A helper runs beside the child, never below it, so that its memory and CPU time are recorded
apart. One that serves other content or another delay is another process.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import msgspec

from scaling.base.errors import UsageError
from scaling.journal.record import CeilingLine
from scaling.run.service_process import ServiceError, ServiceProcess, Usage
from scaling.run.service_usage import ServiceUsage
from scaling.study.services import SERVICES

CEILING_LIMIT_S = 20.0  # beyond the seconds of load itself


type Key = tuple[str, tuple[str, ...]]  # a helper's name and its options


class Services:
    """Starts helpers with one interpreter and its environment, and ends them all at the end.

    `python` and `environment` should be the same whatever arm is measured: a helper is no part
    of the comparison. `workers` is how many of them a run has at most.
    """

    def __init__(self, python: str, environment: Mapping[str, str], *, workers: int = 1) -> None:
        self._python = python
        self._environment = environment
        self._workers = workers
        self._running: dict[Key, ServiceProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def need(self, name: str, parameters: Mapping[str, Any]) -> list[str]:
        """Return the URLs of a helper for a workload with these parameters, started if need be.

        Raises:
            UsageError: there is no helper of that name.
            ServiceError: it cannot be started.
        """
        return self._get(name, parameters).urls

    def usage(self, name: str, parameters: Mapping[str, Any]) -> Usage:
        """Read what a helper holds and has used since it was started."""
        service = self._running.get(self._key(name, parameters))
        return service.usage() if service else Usage(None, None)

    @contextmanager
    def during(self, names: Sequence[str], parameters: Mapping[str, Any]) -> Iterator[ServiceUsage]:
        """Have these helpers for the time of one run, and tell what they used in it."""
        helped = ServiceUsage({name: self._get(name, parameters) for name in names})
        helped.read()
        yield helped
        helped.read()

    def ceiling(
        self, name: str, parameters: Mapping[str, Any], *, seconds: float = 1.0
    ) -> CeilingLine:
        """Load a helper with a client that only counts; return what it can deliver at most.

        Raises:
            ServiceError: the load did not come about.
        """
        urls = self.need(name, parameters)
        helper = SERVICES[name]
        options = [*_options(helper.to_load, parameters), f"--seconds={seconds}"]
        try:
            answer = subprocess.run(
                [self._python, "-m", f"{helper.module}.ceiling", *urls, *options],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self._environment),
                timeout=seconds + CEILING_LIMIT_S,
                check=True,
            ).stdout
            figures = msgspec.json.decode(answer, type=dict[str, float])
            return CeilingLine(
                service=name,
                requests_per_s=figures["requests_per_s"],
                mbytes_per_s=figures["mbytes_per_s"],
            )
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        except (subprocess.TimeoutExpired, OSError, msgspec.DecodeError, KeyError) as error:
            told = str(error)
        raise ServiceError(f"the ceiling of the {name} could not be measured: {told}")

    def close(self) -> None:
        """End all helpers."""
        while self._running:
            self._running.popitem()[1].close()

    def _get(self, name: str, parameters: Mapping[str, Any]) -> ServiceProcess:
        key = self._key(name, parameters)
        service = self._running.get(key)
        if service is None or not service.running:
            if service:
                service.close()
            helper = SERVICES[name]
            command = [self._python, "-m", helper.module, "--until-eof", *key[1]]
            command += [f"--processes={helper.processes(self._workers)}"]
            self._running[key] = service = ServiceProcess(command, self._environment)
        return service

    def _key(self, name: str, parameters: Mapping[str, Any]) -> Key:
        if name not in SERVICES:
            raise UsageError(f"no helper is called {name!r}; there are: {', '.join(SERVICES)}")
        return name, tuple(_options(SERVICES[name].parameters, parameters))


def _options(names: Sequence[str], parameters: Mapping[str, Any]) -> list[str]:
    given = (name for name in names if name in parameters)
    return [f"--{name.replace('_', '-')}={parameters[name]}" for name in given]
