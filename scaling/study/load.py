"""What a cell asks of the load generator: those parameters of served workloads that are its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaling.base.errors import UsageError
from scaling.journal.record import Cell, Overload, ParameterValue

CLOSED = 0.0  # the rate that stands for a closed loop
RATE_LEAST, RATE_MOST = 0.01, 1_000_000  # of any other: the generator's own limits
# Parameters of a served workload that say how it is loaded; the connections are its `in_flight`.
RATE, ARRIVALS, KEEP_ALIVE = "rate_per_s", "arrivals", "keep_alive"
# Those of a workload with messages to rooms of connections, instead of requests.
ROOM, STALLED, MESSAGE_BYTES = "room", "stalled", "message_bytes"
MESSAGE_BYTES_MOST = 1 << 20  # the generator's own limit, too
OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS = "overload_factor", "overload_after_s", "overload_s"
AFTERWARDS_S = 5.0  # of the window after an overload, at least: latency has to come back


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


def is_open_loop(parameters: Mapping[str, object]) -> bool:
    """Whether these parameters ask for an open loop; its rate may still be a name, such as 40%."""
    return parameters.get(RATE, CLOSED) != CLOSED


def open_loop_rate(parameters: Mapping[str, object]) -> float | None:
    """The rate of an open loop that these parameters ask for; None for a closed one."""
    rate = parameters.get(RATE, CLOSED)
    return float(rate) if isinstance(rate, int | float) and rate > CLOSED else None


def middle[Rate](rates: Sequence[Rate]) -> Rate:
    """The middle one of some ascending rates: chosen by its place, not by what was measured."""
    return rates[(len(rates) - 1) // 2]


def overload_asked(parameters: Mapping[str, ParameterValue]) -> Overload | None:
    """The overload that these parameters ask for: of an open loop, where there is a factor."""
    return None if open_loop_rate(parameters) is None else _overload(parameters)


def require_possible_overload(cell: Cell, window_s: float) -> None:
    """Make sure that the overload of a cell, if it has one, can be made within the window.

    Raises:
        UsageError: the cell is a closed loop, or the overload ends after the window or too late in
            it to see latency come back.
    """
    overload = _overload(cell.parameters)
    if overload is None:
        return
    if not is_open_loop(cell.parameters):
        raise UsageError(
            f"{cell.workload}: {OVERLOAD}={overload.factor:g} needs an open loop, whose rate it "
            f"multiplies: set {RATE}, or {OVERLOAD}=0"
        )
    ends_s = overload.after_s + overload.lasts_s
    if ends_s + AFTERWARDS_S > window_s:
        raise UsageError(
            f"{cell.workload}: its overload ends {ends_s:g} s after the window of {window_s:g} s "
            f"begins, and latency needs {AFTERWARDS_S:g} s to come back: use --seconds "
            f"{ends_s + AFTERWARDS_S:g}, or lower {OVERLOAD_AFTER} or {OVERLOAD_LASTS}"
        )


def _overload(parameters: Mapping[str, ParameterValue]) -> Overload | None:
    named = (parameters.get(name) or 0.0 for name in (OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS))
    factor, after_s, lasts_s = map(float, named)
    return Overload(factor=factor, after_s=after_s, lasts_s=lasts_s) if factor else None


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
