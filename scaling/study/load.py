"""What a cell asks of the load generator: those parameters of served workloads that are its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.journal.record import Overload, ParameterValue

CLOSED = 0.0  # the rate that stands for a closed loop
RATE_LEAST, RATE_MOST = 0.01, 1_000_000  # any other, as the generator takes it
# Parameters of a served workload that say how it is loaded; the connections are its `in_flight`.
RATE, ARRIVALS, KEEP_ALIVE = "rate_per_s", "arrivals", "keep_alive"
OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS = "overload_factor", "overload_after_s", "overload_s"


@dataclass(frozen=True, kw_only=True)
class LoadAsked:
    """The load of one run. `rate_per_s` is that of all workers together; None: a closed loop."""

    rate_per_s: float | None
    overload: Overload | None = None
    arrivals: str
    keep_alive: bool
    connections: int
    seed: int
    warmup_s: float


def open_loop_rate(parameters: Mapping[str, object]) -> float | None:
    """The rate of an open loop that these parameters ask for; None for a closed one."""
    rate = parameters.get(RATE, CLOSED)
    return float(rate) if isinstance(rate, int | float) and rate > CLOSED else None


def overload_asked(parameters: Mapping[str, ParameterValue]) -> Overload | None:
    """The overload that these parameters ask for: of an open loop, where there is a factor."""
    named = (parameters.get(name) or 0.0 for name in (OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS))
    factor, after_s, lasts_s = map(float, named)
    if not factor or open_loop_rate(parameters) is None:
        return None
    return Overload(factor=factor, after_s=after_s, lasts_s=lasts_s)


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
        overload=overload_asked(parameters),
        arrivals=str(parameters.get(ARRIVALS, "poisson")),
        keep_alive=bool(parameters.get(KEEP_ALIVE, True)),
        connections=connections,
        seed=seed,
        warmup_s=warmup_s,
    )
