"""What changed since an earlier study: the figures of its cells, now over then.

The two studies were not made side by side, so ratios are unpaired. All of them are one exploratory
family, and their margin is the wider one of the two studies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.gate.cells import Pair
from scaling.analysis.ratios import FELL_BEHIND, SENT_LATE
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.statistics.verdict import (
    Direction,
    Margin,
    RatioVerdict,
    judge,
    unpaired_hypothesis,
    wider,
)

MORE_IS_BETTER = Direction("worse", "better")
LESS_IS_BETTER = Direction("better", "worse")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One figure of a cell in two studies: `what` with its unit, `then` and `now`.

    `runs` are the values now and then, shape (blocks,) each. `why` says why the figure proves
    nothing, where it does not; `bounds` are `≥` or `<` where then or now is only a bound. `between`
    are the least and the greatest ratio that the lateness of the load generator allows.
    """

    cell: str
    what: str
    then: Estimate
    now: Estimate
    runs: tuple[Floats, Floats]
    margin: Margin
    direction: Direction = LESS_IS_BETTER
    why: str = ""
    bounds: tuple[str, str] = ("", "")
    between: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A figure with the ratio of now to then and its verdict."""

    of: Compared
    ratio: RatioVerdict


def changes(compared: Sequence[Compared], void: str = "") -> list[Change]:
    """The figures with their verdicts. In a `void` study (the reason) all are inconclusive."""
    verdicts = judge(
        [unpaired_hypothesis(*f.runs, f.margin, f.direction, "exploratory") for f in compared]
    )
    return [_change(figure, ratio, void) for figure, ratio in zip(compared, verdicts, strict=True)]


def _change(of: Compared, ratio: RatioVerdict, void: str) -> Change:
    if void:
        return Change(of, ratio.undecided("void", void))
    why = of.why
    if of.between and not ratio.verdict.holds_between(*of.between):
        why = why or SENT_LATE
    return Change(of, ratio.undecided("bound", why) if why else ratio)


def figures(both: Sequence[Pair], floors: Sequence[NoiseFloor]) -> Iterator[Compared]:
    """Throughput, CPU time per operation and memory of each cell, where both studies have them.

    In an open loop throughput is the schedule's, and P99 takes its place.
    """
    for pair in both:
        now, then = pair
        section, curve = now.section, now.curve
        if section.rate_per_s is None:
            yield from _of(pair, floors, "throughput", f"{section.operation}/s", 1.0)
        else:
            yield from _of(pair, floors, "latency_p99_s", "P99 ms", 1e3)
        yield from _of(pair, floors, "cpu_s_per_op", "CPU µs/op", 1e6)
        if curve.memory_kind == then.curve.memory_kind:
            yield from _of(pair, floors, "memory", f"{curve.memory_kind} MiB", 1.0)


def _of(
    pair: Pair, floors: Sequence[NoiseFloor], measure: str, what: str, factor: float
) -> Iterator[Compared]:
    """One figure, if both studies have it; `factor` converts to the unit in `what`."""
    now, then = pair
    ours, theirs = (cell.point.estimate(measure).scaled(factor, what) for cell in pair)
    runs = now.runs(measure), then.runs(measure)
    bounds = ["" if np.isfinite(each).any() else "≥" for each in runs]  # servers fell behind
    if ours.n and theirs.n:
        yield Compared(
            cell=now.name,
            what=what,
            then=theirs,
            now=ours,
            runs=runs,
            margin=wider(floor.margin(measure) for floor in floors),
            direction=MORE_IS_BETTER if measure == "throughput" else LESS_IS_BETTER,
            why=FELL_BEHIND if any(bounds) else "",
            bounds=(bounds[1], bounds[0]),
        )
