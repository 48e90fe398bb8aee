"""Capacity at an objective: the highest rate at which a configuration keeps a latency.

In each block it is where a monotone fit of the percentile over the rates crosses the objective,
with no error and no backlog below. Beyond the rates that were measured a block gives a bound, which
counts as the last rate. Where the load generator was late, latencies are upper bounds, and so
capacity is a lower one: the most that it can be is where the latencies from the send cross.
"""

from functools import partial

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.column import Shown
from scaling.analysis.table.groups import fell_behind, slug
from scaling.analysis.tables.values import Derived, Measure, Values
from scaling.journal.record import StudyLine
from scaling.study.kinds import Objective, parse_objective
from scaling.study.load import is_open_loop
from scaling.study.questions import CAPACITY
from scaling.study.sections import without_rate

FAULTS = ("load_errors", "load_declined")


def objectives_of(study: StudyLine) -> list[Objective]:
    """The latency objectives that a study states."""
    return [parse_objective(text) for text in study.study.get("slo") or ()]


def capacities(study: StudyLine) -> dict[str, Derived]:
    """A measure for each objective of a study: `capacity at p99<20ms`."""
    return {
        CAPACITY.format(each.text): Derived(
            partial(capacity, objective=each),
            Shown(f"capacity at {each.text}", f"capacity_{slug(each.text)}_per_s"),
        )
        for each in objectives_of(study)
    }


def capacity(values: Values, objective: Objective) -> Measure:
    """The rate up to which an objective holds, in requests/s, for each cell that is `rated`."""
    table, shape = values.table, values.places.shape
    latency = values[f"latency_{objective.percentile}_s"]
    faults = [values.column(name) for name in FAULTS] + [
        values.placed(fell_behind(values.runs).astype(np.float64))
    ]
    is_sound = ~(np.array(faults) > 0).any(axis=0)
    value, least, most = (np.full(shape, np.nan) for _ in range(3))
    bound = np.zeros(shape, np.int64)
    loaded = table[~table["twin"] & table["cell"].map(lambda cell: is_open_loop(cell.parameters))]
    of = loaded["cell"].map(without_rate)
    for place in np.flatnonzero(table["rated"]):
        rate = loaded.loc[of == table.at[place, "cell"], "rate"].sort_values()
        for block in np.flatnonzero((latency.value[:, rate.index] > 0).any(axis=1)):
            at = rate.index[latency.value[block, rate.index] > 0]
            rates, sound = rate[at].to_numpy(), is_sound[block, at]
            kept, side = crossing(rates, latency.value[block, at], sound, objective.limit_s)
            late, beyond = crossing(rates, latency.least[block, at], sound, objective.limit_s)
            value[block, place], bound[block, place] = kept, side
            least[block, place] = 0.0 if side < 0 else kept
            most[block, place] = np.inf if beyond > 0 else late
    return Measure(value, bound, least, most)


def crossing(
    rates_per_s: Floats, latencies_s: Floats, sound: Flags, limit_s: float
) -> tuple[float, int]:
    """The rate up to which the objective holds: latency within `limit_s`, and every run `sound`.

    Beside it stands 0 for a rate inside the grid; else the rate is the grid's end, a bound: with 1
    where the objective holds at every rate, so that capacity is at least the highest, with -1 where
    it holds at none, so that capacity is less than the lowest.

    Arrays are of shape (rates,), the rates ascending and at least one; a run is sound without
    errors and backlog. Where an unsound run comes before the crossing, the rate before that run is
    the capacity. Latency rises with the rate, but single runs scatter, so a monotone fit of its
    logarithm comes first (pool-adjacent-violators); the highest rate of a single run that passed
    would favour lucky runs.
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than a plan to make

    fit, limit = isotonic_regression(np.log(latencies_s)).x, np.log(limit_s)
    count = len(rates_per_s)
    slow = int(np.searchsorted(fit, limit, side="right"))  # the first rate beyond the objective
    unsound = count if sound.all() else int(np.argmin(sound))
    if min(slow, unsound) == 0:
        return float(rates_per_s[0]), -1
    if min(slow, unsound) == count:
        return float(rates_per_s[-1]), 1
    if unsound < slow:
        return float(rates_per_s[unsound - 1]), 0
    part = (limit - fit[slow - 1]) / (fit[slow] - fit[slow - 1])
    low, high = np.log(rates_per_s[slow - 1 : slow + 1])
    return float(np.exp(low + part * (high - low))), 0
