"""The services that workloads talk to: one entry each.

Everything else follows from the entry: how a service is started, how its ceiling is measured, how
many open files a run needs, what the journal keeps. To add one, write its package in
`workers/services` and its entry here; workloads name it in their `services`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaling.journal.record import ParameterValue


@dataclass(frozen=True)
class Service:
    """A kind of service.

    `python -m MODULE` serves and `python -m MODULE.ceiling` loads it. `parameters` are those of the
    workload that the service is started with, `to_load` those that its load needs.
    `workers_each` is how many workers one of its processes can serve without being what they wait
    for; its ceiling, measured in every study, shows whether that is so.
    """

    module: str
    parameters: tuple[str, ...]
    to_load: tuple[str, ...]
    workers_each: int

    def processes(self, workers: int) -> int:
        """How many processes, with a port each, this many workers need."""
        return -(-workers // self.workers_each)

    def parameters_of(self, workload: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The workload's parameters that decide how much the service can deliver."""
        return _chosen(tuple(dict.fromkeys(self.parameters + self.to_load)), workload)

    def options(self, workload: Mapping[str, ParameterValue]) -> list[str]:
        """The command-line options that start it for a workload with these parameters."""
        return _options(_chosen(self.parameters, workload))

    def load_options(self, workload: Mapping[str, ParameterValue]) -> list[str]:
        """The command-line options of its load for a workload with these parameters."""
        return _options(_chosen(self.to_load, workload))


SERVICES = {
    "site": Service(
        "workers.services.site",
        ("pages", "seed", "delay_ms"),
        to_load=("pages", "delay_ms"),
        workers_each=8,
    ),
    # 5,000 connections a worker: Linux gives out 28,232 ports towards one port of a server's.
    "responder": Service(
        "workers.services.responder",
        ("body_bytes", "delay_ms"),
        to_load=("delay_ms",),
        workers_each=4,
    ),
}

LOAD_GENERATOR = "load generator"
"""What loads a served workload. No workload talks to it, but it has a ceiling like a service's."""

WITH_CEILING = SERVICES | {
    LOAD_GENERATOR: Service(
        "workers.services.null",
        ("server", "response_bytes"),
        to_load=("connections", "keep_alive", "response_bytes"),
        workers_each=2**16,  # one null server is enough: no worker talks to it
    )
}


def _chosen(
    names: Sequence[str], parameters: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    return {name: parameters[name] for name in names if name in parameters}


def _options(parameters: Mapping[str, ParameterValue]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
