"""What a cell asks of the load generator: those parameters of served workloads that are its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.journal.record import ParameterValue

CLOSED = 0.0  # the rate that stands for a closed loop
RATE_LEAST, RATE_MOST = 0.01, 1_000_000  # any other, as the generator takes it
# Parameters of a served workload that say how it is loaded; the connections are its `in_flight`.
RATE, ARRIVALS, KEEP_ALIVE = "rate_per_s", "arrivals", "keep_alive"


@dataclass(frozen=True, kw_only=True)
class LoadAsked:
    """The load of one run. `rate_per_s` is that of all workers together; None: a closed loop."""

    rate_per_s: float | None
    arrivals: str
    keep_alive: bool
    connections: int
    seed: int
    warmup_s: float


def open_loop_rate(parameters: Mapping[str, object]) -> float | None:
    """The rate of an open loop that these parameters ask for; None for a closed one."""
    rate = parameters.get(RATE, CLOSED)
    return float(rate) if isinstance(rate, int | float) and rate > CLOSED else None


def load_asked(
    parameters: Mapping[str, ParameterValue], *, connections: int, seed: int, warmup_s: float
) -> LoadAsked:
    """The load of a cell with these parameters of its workload.

    Raises:
        ValueError: its rate is still to be calibrated (`scaling.study.rates`).
    """
    rate = parameters.get(RATE)
    if isinstance(rate, str):
        raise ValueError(f"the rate {rate!r} has not been calibrated")
    return LoadAsked(
        rate_per_s=open_loop_rate(parameters),
        arrivals=str(parameters.get(ARRIVALS, "poisson")),
        keep_alive=bool(parameters.get(KEEP_ALIVE, True)),
        connections=connections,
        seed=seed,
        warmup_s=warmup_s,
    )
