"""The services that workloads talk to, an entry each in `services.toml`.

From an entry follow how a service is started, how its ceiling is measured, how many open files a
run needs and what the journal keeps. To add a service, write its module in `workers/services` and
its entry in `services.toml`; workloads name it in their `services`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from scaling.builds import installed
from scaling.journal.record import ParameterValue

WORKERS = "workers"


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A kind of service.

    `python -m MODULE` serves, and `python -m MODULE.ceiling` loads it. `parameters` are parameters
    of the workload that the service is started with (`WORKERS`: the number of workers), `to_load`
    those that its load needs; None: the service has no ceiling of its own. `workers_each` is the
    number of workers that one process can serve without being the bottleneck; the ceiling, measured
    in every study, shows whether that is so.

    A service is part of a run if the workload names it, or if the parameter `asked_by` has the
    service's name as its value. A service `in_front` of the servers of a run is started once they
    answer. `needs` are services that the service talks to itself. A `fresh` service is started for
    each run, since data that a run leaves in it would change the next run.

    Either `program`, of a package of that name, is on PATH, or `package` is in the children's
    environment, or the variable `installed` names a server of the user's. A service that `keeps`
    data has a folder in the user's cache. `most_mib` is the memory that it needs.
    """

    module: str
    parameters: tuple[str, ...] = ()
    to_load: tuple[str, ...] | None = None
    workers_each: int = 2**16
    asked_by: str = ""
    in_front: bool = False
    needs: tuple[str, ...] = ()
    fresh: bool = False
    program: str = ""
    package: str = ""
    installed: str = ""
    keeps: bool = False
    most_mib: int = 60

    def __post_init__(self) -> None:
        """Refuse a variable that no option sets."""
        if self.installed not in ("", *installed.URLS):
            raise ValueError(f"{self.installed}: expected {' or '.join(installed.URLS)}")

    @property
    def found_program(self) -> str | None:
        """The path of the program, or None."""
        return installed.program(self.program) if self.program else None

    def missing(self, packages: Mapping[str, str]) -> str | None:
        """Reason the service is not available with these packages, or None."""
        if self.program and self.found_program is None:
            return f"{self.program} is not on PATH: install the package {self.program}"
        if self.package and self.package not in packages and not os.environ.get(self.installed):
            return (
                f"{self.package} is not installed (it has no wheel for some platforms); name a "
                f"server of your own with {self.installed}=URL"
            )
        return None

    def processes(self, workers: int) -> int:
        """The number of processes, with a port each, that so many workers need."""
        return -(-workers // self.workers_each)

    def parameters_of(self, workload: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The workload's parameters that decide how much the service can deliver."""
        names = dict.fromkeys(self.parameters + (self.to_load or ()))
        return {name: workload[name] for name in names if name in workload}

    def options(self, workload: Mapping[str, ParameterValue]) -> list[str]:
        """The command-line options that start it for a workload with these parameters."""
        return _options(self.parameters, workload)

    def load_options(self, workload: Mapping[str, ParameterValue]) -> list[str]:
        """The command-line options of its load for a workload with these parameters."""
        return _options(self.to_load or (), workload)


LOAD_GENERATOR = "load generator"
WITH_CEILING = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, Service]
)
SERVICES = {name: each for name, each in WITH_CEILING.items() if name != LOAD_GENERATOR}


def beside(named: Sequence[str], parameters: Mapping[str, ParameterValue]) -> tuple[str, ...]:
    """The services that a workload names or its parameters ask for, each after those it needs."""
    asked = [
        name for name, each in SERVICES.items() if not each.in_front and _asks(name, parameters)
    ]
    needed = [each for name in asked for each in SERVICES[name].needs]
    return tuple(dict.fromkeys([*named, *needed, *asked]))


def in_front(parameters: Mapping[str, ParameterValue]) -> str | None:
    """The service that the parameters put between clients and servers, or None."""
    asked = (name for name, each in SERVICES.items() if each.in_front and _asks(name, parameters))
    return next(asked, None)


def _asks(name: str, parameters: Mapping[str, ParameterValue]) -> bool:
    return bool(SERVICES[name].asked_by) and parameters.get(SERVICES[name].asked_by) == name


def _options(names: Sequence[str], given: Mapping[str, ParameterValue]) -> list[str]:
    return [f"--{name.replace('_', '-')}={given[name]}" for name in names if name in given]
