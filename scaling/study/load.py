"""The load of served workloads: parameters of the load generator, and the rates they name."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from scaling.base.errors import UsageError
from scaling.base.models import PROCESSES
from scaling.journal.record import (
    Calibration,
    Cell,
    Load,
    Overload,
    Parameters,
    ParameterValue,
    Region,
)
from scaling.study.kinds import GRID, share
from scaling.study.presets import GRID_RATES

CLOSED = 0.0  # the rate that stands for a closed loop
# Parameters of served workloads for the load generator; the connections are their `in_flight`.
RATE, ARRIVALS, KEEP_ALIVE = "rate_per_s", "arrivals", "keep_alive"
# Parameters of workloads that send messages to rooms of connections, instead of requests.
ROOM, STALLED = "room", "stalled"
OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS = "overload_factor", "overload_after_s", "overload_s"


def is_open_loop(parameters: Mapping[str, object]) -> bool:
    """Return True if the load is an open loop; its rate may still be a name, such as 40%."""
    return parameters.get(RATE, CLOSED) != CLOSED


def open_loop_rate(parameters: Mapping[str, object]) -> float | None:
    """The rate of an open loop; None for a closed loop."""
    rate = parameters.get(RATE, CLOSED)
    return float(rate) if isinstance(rate, int | float) and rate > CLOSED else None


def middle[Rate: ParameterValue](rates: Iterable[Rate]) -> Rate:
    """The middle rate by size, the lower of two; rates may be calibrated or not."""
    ascending = sorted(set(rates), key=_size)
    return ascending[(len(ascending) - 1) // 2]


def _size(rate: ParameterValue) -> float:
    """A number that orders rates; the order of names is the same at any peak."""
    return rates_for([rate], ANY_PEAK)[rate] if isinstance(rate, str) else float(rate or CLOSED)


def require_possible_overload(cell: Cell, window_s: float) -> None:
    """Make sure that the overload of a cell, if any, fits into an open loop and the window.

    Raises:
        UsageError: the cell is a closed loop, or the overload ends after the window.
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
    if ends_s > window_s:
        raise UsageError(
            f"{cell.workload}: its overload ends {ends_s:g} s after the window of {window_s:g} s "
            f"begins: use --seconds {ends_s:g}, or lower {OVERLOAD_AFTER} or {OVERLOAD_LASTS}"
        )


def _overload(parameters: Mapping[str, ParameterValue]) -> Overload | None:
    named = (parameters.get(name) or 0.0 for name in (OVERLOAD, OVERLOAD_AFTER, OVERLOAD_LASTS))
    factor, after_s, lasts_s = map(float, named)
    return Overload(factor=factor, after_s=after_s, lasts_s=lasts_s) if factor else None


def load_asked(parameters: Mapping[str, ParameterValue], *, connections: int, seed: int) -> Load:
    """The load that a cell asks for with these parameters.

    Raises:
        ValueError: its rate is still to be calibrated (`calibrations_for`).
    """
    rate = parameters.get(RATE)
    if isinstance(rate, str):
        raise ValueError(f"the rate {rate!r} has not been calibrated")
    return Load(
        rate_per_s=open_loop_rate(parameters),
        overload=_overload(parameters) if is_open_loop(parameters) else None,
        arrivals=str(parameters.get(ARRIVALS, "poisson")),
        keep_alive=bool(parameters.get(KEEP_ALIVE, True)),
        connections=connections,
        seed=seed,
    )


# -------------------------------------------------------------------------------------------- rates
# Rates that a calibration decides: `rate_per_s = "grid"`, or a share of the peak such as "50%".
#
# The calibration measures the peak of the baseline in a closed loop: the best of the processes,
# fresh and forked, on the arms with the GIL, at the largest N within the cores. Their runs
# alternate, and are spread between the runs of the first block whose rates are known: a machine
# that is slow for some seconds is slow in few of them. All configurations get the same rates.
# Shares of each configuration's own peak would put the error of its calibration into the rates that
# it is compared at, and a search for the highest rate that passes is biased towards luck. If the
# study itself finds another peak, tables show the rate's share of that peak beside each P99
# (`scaling.analysis.tables.cells`).
#
# All studies and machines have one grid: the powers of 1.25, to three digits. A study takes the
# rates from about a fifth of the peak to the first that reaches it. A slightly different peak gives
# mostly the same rates, so studies can be compared.
#
# The cost of a request decides the peak, so each server, payload or amount of work has its own
# calibration. Cells that differ in `SAME_RATES` alone are compared at one rate. Their calibration
# has the largest number of each, which is the heaviest load, so that "50%" is at most 50% for all
# of them, and the first word of each. Servers of one application are compared at one rate, too;
# the peak is that of the baseline's server.

STEP = 1.25
DIGITS = 3

# Three rounds of a second: the rates need the peak to within a step of the grid, 25 %. A median of
# three runs is off by more than that only where two of them are.
ROUNDS = 3
CALIBRATION_WINDOW_S = 1.0

SAME_RATES = (
    "connections",
    "arrivals",
    "accept",
    "garbage_per_request",
    "heap_objects",
    "heap",
)
OF_ONE_APPLICATION = ("server", "command")  # parameters of the workload `app`
# Parameters for the calibration of a workload. At its peak a gateway declines nothing and has
# enough connections to keep the cores busy while each request waits for the service downstream: 32
# connections with a wait of 23 ms would get 1,400 requests/s, whatever the cores can do.
AT_PEAK: Mapping[str, Mapping[str, ParameterValue]] = {
    "gateway": {
        "connections": 128,
        "deadline_ms": 0,
        "in_flight_limit": 0,
        "overload_factor": 0.0,
        "overload_after_s": 0.0,
        "overload_s": 0.0,
    },
}
ANY_PEAK = 10_000.0

type Subject = tuple[str, Parameters]  # a workload, and the parameters its rates depend on
type Name = str  # of a rate that is not known yet: "50%", or "grid 3 of 8"


def names_of(values: Iterable[ParameterValue], points: int) -> Iterator[ParameterValue]:
    """The values with a name for each of the `points` rates that `grid` stands for."""
    for value in values:
        if value == GRID:
            yield from (f"{GRID} {point} of {points}" for point in range(1, points + 1))
        else:
            yield value


def grid(peak_per_s: float, points: int) -> list[float]:
    """Rates per second, ascending: the last is the first of the grid that reaches the peak.

    Up to `GRID_RATES` points are spread over the range that so many have; more reach further down.
    """
    top = math.ceil(round(math.log(peak_per_s, STEP), 6))
    steps = max(points, GRID_RATES) - 1
    places = [point / (points - 1) for point in range(points)] if points > 1 else [0.5]
    below = [round(steps * (1 - place)) for place in places]
    return [_rounded(STEP ** (top - step)) for step in below]


def rates_for(names: Iterable[Name], peak_per_s: float) -> dict[Name, float]:
    """The rates per second that these names stand for at a peak."""
    found = {}
    for name in names:
        if name.startswith(GRID):
            point, points = (int(part) for part in name.removeprefix(GRID).split("of"))
            found[name] = grid(peak_per_s, points)[point - 1]
        else:
            found[name] = _rounded(peak_per_s * share(name))
    return found


def _rounded(rate: float) -> float:
    return float(f"{rate:.{DIGITS - 1}e}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A calibration that a study needs: the `names` of its rates, and the cells that it runs.

    The best of the `candidates` is the peak. `parameters` are those that the rates depend on.
    """

    workload: str
    parameters: Mapping[str, ParameterValue]
    names: tuple[Name, ...]
    candidates: tuple[Cell, ...]


def calibrations_for(cells: Iterable[Cell], region: Callable[[int], Region | None]) -> list[Needed]:
    """The calibrations of cells whose rates are names; `region` is that of a number of workers."""
    groups: dict[Subject, list[Cell]] = {}
    for cell in cells:
        if not is_known(cell):
            groups.setdefault(_subject(cell), []).append(cell)
    return [
        Needed(
            workload=group[0].workload,
            parameters=deciding(group[0]),
            names=tuple(dict.fromkeys(str(cell.parameters[RATE]) for cell in group)),
            candidates=_candidates(group, region),
        )
        for group in groups.values()
    ]


def calibration_runs(needed: Iterable[Needed]) -> list[Cell]:
    """The cells of all runs of these calibrations, round after round."""
    return [cell for each in [*needed] * ROUNDS for cell in each.candidates]


def is_known(cell: Cell) -> bool:
    """Return True if the rate of a cell, if it has one, is a number."""
    return not isinstance(cell.parameters.get(RATE), str)


def share_of_peak(rate: ParameterValue) -> float:
    """The approximate share of the peak of a rate that is still a name."""
    return _size(rate) / ANY_PEAK


def rate_in_words(rate: ParameterValue) -> ParameterValue:
    """`grid of 8` for each rate of a grid that is still a name; else the rate."""
    if isinstance(rate, str) and rate.startswith(GRID):
        return f"{GRID} of {rate.rpartition(' ')[2]}"
    return rate


def at_rates(cells: Iterable[Cell], calibrations: Iterable[Calibration]) -> tuple[Cell, ...]:
    """The cells with their rates as numbers, each once."""
    known = {(each.workload, Parameters.of(each.parameters)): each.rates for each in calibrations}

    def rated(cell: Cell) -> Cell:
        rate = cell.parameters.get(RATE)
        rates = known.get(_subject(cell), {}) if isinstance(rate, str) else {}
        return (
            replace(cell, parameters={**cell.parameters, RATE: rates[rate]})
            if rate in rates
            else cell
        )

    return tuple(dict.fromkeys(map(rated, cells)))


def _subject(cell: Cell) -> Subject:
    return cell.workload, deciding(cell)


def deciding(cell: Cell) -> Parameters:
    """The parameters that the rates of a cell depend on."""
    own = OF_ONE_APPLICATION if cell.workload == "app" else AT_PEAK.get(cell.workload, ())
    others = (RATE, *SAME_RATES, *own)
    return Parameters.of(cell.parameters).without(*others)


def _candidates(group: Sequence[Cell], region: Callable[[int], Region | None]) -> tuple[Cell, ...]:
    """The cells that a calibration runs, in a closed loop at the largest N within the cores.

    They are processes on arms with the GIL; else processes on any arm, else all configurations of
    the ladder's arms, else all.
    """
    from scaling.builds.arms import version_arms  # `--help` needs no arms
    from scaling.builds.settings.interpreter import LADDER

    within = [cell for cell in group if region(cell.workers) == "cores"]
    most = max(cell.workers for cell in within) if within else min(c.workers for c in group)
    largest = [cell for cell in group if cell.workers == most]
    processes = [cell for cell in largest if cell.model in PROCESSES]
    versions = version_arms(cell.arm for cell in processes)
    baseline = {arm for version in versions for arm in version.with_gil}
    usual = [cell for cell in processes if cell.arm in baseline]
    plain = [cell for cell in largest if set(cell.arm.split("+")[1:]) <= LADDER]
    among = usual or processes or plain or largest
    server = [among[0].parameters.get(name) for name in OF_ONE_APPLICATION]
    at_peak = {**_heaviest(group), **AT_PEAK.get(group[0].workload, {})}
    chosen = [
        replace(
            cell,
            parameters={**cell.parameters, **at_peak, RATE: CLOSED},
            sizing=group[0].sizing,
        )
        for cell in among
        if [cell.parameters.get(name) for name in OF_ONE_APPLICATION] == server
    ]
    return tuple(dict.fromkeys(chosen))


def _heaviest(group: Sequence[Cell]) -> dict[str, ParameterValue]:
    """The values of `SAME_RATES` for the calibration: the largest number, or the first word."""
    found = {}
    for name in SAME_RATES:
        values = [cell.parameters[name] for cell in group if name in cell.parameters]
        numbers = [value for value in values if isinstance(value, int | float)]
        if values:
            found[name] = max(numbers) if numbers else values[0]
    return found
