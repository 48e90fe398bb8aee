"""The services that workloads talk to: one entry each, which the plan and the driver read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Service:
    """A kind of service: the module that is run, and the workload's parameters it must know.

    `to_load` are those of them that finding out its ceiling takes. `workers_each` is how many
    workers one of its processes serves without being what they wait for (its ceiling is measured
    in every study and stands in the journal).
    """

    module: str
    parameters: tuple[str, ...]
    to_load: tuple[str, ...]
    workers_each: int

    def processes(self, workers: int) -> int:
        """How many processes, with a port each, this many workers take."""
        return -(-workers // self.workers_each)


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
