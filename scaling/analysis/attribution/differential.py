"""What each function gained between N = 1 and N, in ns per operation, with an interval.

A profile has numbers of samples. The share of a function in a run, times what an operation took in
that run, is its time per operation. A run at N = 1 and one at N make a pair; a function's gain is
the mean of the differences over the pairs, with the interval of Student's t. Means add up: the
gains of all functions are together the gain of their sum, in every pair and on average.

Hundreds of functions are tested at once, and one in twenty would be beyond its interval by chance:
a function is named if its gain is significant after the correction of Benjamini and Hochberg.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.attribution.meanings import meaning
from scaling.analysis.statistics.estimate import COVERAGE
from scaling.analysis.statistics.families import corrected
from scaling.journal.profile import FunctionGain, Kind, ProfilePart

FEWEST_PAIRS = 2  # a single difference has no interval
MOST_NAMED = 20  # functions of a part; smaller gains are in the rest


@dataclass(frozen=True)
class Part:
    """One table of a profile: which kinds of functions it has, and of what they are shares.

    The functions of a part that does not `add_up` contain each other.
    """

    title: str
    kinds: tuple[Kind, ...]
    of: Literal["cpu", "time"]
    adds_up: bool = True


PARTS: tuple[Part, ...] = (
    Part("CPU time by native function and kernel function", ("native", "kernel"), "cpu"),
    Part("CPU time by Python function, without what it calls", ("python",), "cpu"),
    Part(
        "CPU time by Python function, with what it calls in Python",
        ("python_total",),
        "cpu",
        adds_up=False,
    ),
    Part("Time blocked on a lock, by Python stack (innermost first)", ("blocked",), "time"),
)


@dataclass(frozen=True)
class Tally:
    """How much of `of` was in each function, by kind and name; `samples` is what it was made of."""

    amounts: Mapping[tuple[Kind, str], float] = field(default_factory=dict)
    of: float = 0
    samples: int = 0


@dataclass(frozen=True)
class SampledRun:
    """One profiled run: what an operation took, and the samples, by the first kind of each part."""

    cpu_ns_per_op: float
    worker_ns_per_op: float
    tallies: Mapping[Kind, Tally]

    def base_ns(self, part: Part) -> float:
        """What the shares of a part are shares of."""
        return self.cpu_ns_per_op if part.of == "cpu" else self.worker_ns_per_op

    def tally(self, part: Part) -> Tally:
        """The samples of a part; empty where its source saw nothing."""
        return self.tallies.get(part.kinds[0], Tally())


def differentials(pairs: Sequence[tuple[SampledRun, SampledRun]]) -> list[ProfilePart]:
    """The parts of a profile of which anything was seen; each pair is a run at 1 and one at N."""
    found = (_differential(part, pairs) for part in PARTS)
    return [each for each in found if each is not None]


def _differential(part: Part, pairs: Sequence[tuple[SampledRun, SampledRun]]) -> ProfilePart | None:
    seen = [pair for pair in pairs if all(run.tally(part).of for run in pair)]
    if len(seen) < FEWEST_PAIRS:
        return None
    names = sorted({name for pair in seen for run in pair for name in run.tally(part).amounts})
    if not names:
        return None

    def table(which: int) -> Floats:
        """Shape (pairs, functions), ns per operation."""
        rows = [
            [
                pair[which].base_ns(part)
                * pair[which].tally(part).amounts.get(name, 0)
                / pair[which].tally(part).of
                for name in names
            ]
            for pair in seen
        ]
        return np.array(rows, dtype=np.float64)

    at_1, at_n = table(0), table(1)
    every = [gain(*name, at_1[:, k], at_n[:, k]) for k, name in enumerate(names)]
    order = sorted(range(len(every)), key=lambda k: -every[k].gained_ns)
    sizes = sorted(_significant(at_n - at_1), key=lambda k: -abs(every[k].gained_ns))
    named = set(sizes[:MOST_NAMED])
    others = [k for k in order if k not in named]

    def together(function: str, which: Sequence[int]) -> FunctionGain | None:
        kind = part.kinds[0]
        sums = at_1[:, which].sum(axis=1), at_n[:, which].sum(axis=1)
        return gain(kind, function, *sums) if part.adds_up else None

    return ProfilePart(
        title=part.title,
        functions=[every[k] for k in order if k in named],
        others=len(others),
        rest=together("all others", others),
        total=together("together", order),
    )


def gain(kind: Kind, function: str, at_1: Floats, at_n: Floats) -> FunctionGain:
    """The mean gain of a function over the pairs, shape (pairs,), with its interval."""
    gained = at_n - at_1
    half = _half_width(len(gained)) * float(gained.std(ddof=1))
    return FunctionGain(
        kind=kind,
        function=function,
        at_1_ns=float(at_1.mean()),
        at_n_ns=float(at_n.mean()),
        gained_ns=float(gained.mean()),
        low=float(gained.mean()) - half,
        high=float(gained.mean()) + half,
        meaning=meaning(kind, function),
    )


def _significant(gained: Floats) -> list[int]:
    """Which functions gained or lost time, of shape (pairs, functions), corrected for how many."""
    from scipy.special import stdtr

    pairs, functions = gained.shape
    error = gained.std(axis=0, ddof=1) / pairs**0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stdtr(pairs - 1, -np.abs(gained.mean(axis=0) / error))
    adjusted = corrected(p_values.tolist(), ["exploratory"] * functions)
    return [k for k, p_value in enumerate(adjusted) if p_value < 1 - COVERAGE]


def _half_width(n: int) -> float:
    """Half the width of the interval of a mean of `n` values, in their standard deviations."""
    from scipy.special import stdtrit  # scipy.stats takes longer to import

    return float(stdtrit(n - 1, (1 + COVERAGE) / 2) / n**0.5)
