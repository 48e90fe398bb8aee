"""Which figures a table shows of each cell, in what unit, under what heading."""

from collections.abc import Iterable
from dataclasses import dataclass

from scaling import wording
from scaling.analysis.curves import Curve, Point
from scaling.analysis.estimate import Estimate
from scaling.analysis.sections import Section

OVERSUBSCRIBED, SIBLINGS, SUSPECT = "*", "~", "?"
MARKS = {"smt": SIBLINGS, "oversubscribed": OVERSUBSCRIBED}


@dataclass(frozen=True, slots=True)
class Measure:
    """One column of figures. `column` is its name in a CSV file, unit and all, `heading` for eyes.

    A narrow terminal does without the `extra` ones.
    """

    field: str
    column: str
    heading: str
    factor: float = 1.0
    extra: bool = False

    def of(self, point: Point) -> Estimate:
        """The estimate of this measure, in this measure's unit."""
        value: Estimate = getattr(point, self.field)
        return value.scaled(self.factor, self.heading)


def measures(section: Section) -> list[Measure]:
    """The columns for a section, in order of interest."""
    kinds = "/".join(sorted({curve.memory_kind for curve in section.curves}, reverse=True))
    return [
        Measure("throughput", "throughput_per_s", f"{section.operation}/s"),
        Measure("speedup", "speedup", "speed-up"),
        Measure("efficiency", "efficiency", "efficiency"),
        Measure("cpu_s_per_op", "cpu_us_per_op", "CPU µs/op", 1e6),
        Measure("memory", "memory_mib", f"{kinds} MiB"),
        Measure("lag_p50", "lag_p50_ms", "lag ms", 1e3, extra=True),
        Measure("lag_max", "lag_max_ms", "worst lag ms", 1e3, extra=True),
        Measure("fairness", "fairness", "fairness", extra=True),
    ]


def curve_name(curve: Curve) -> str:
    """Loop, arm and model: which curve of its section it is."""
    return f"{curve.key.loop} · {curve.key.arm} · {curve.key.model}"


def notes(section: Section) -> list[str]:
    """What the figures of a section are, and what the marks at its numbers mean."""
    points = [point for curve in section.curves for point in curve.points]
    spread = wording.spread(point.throughput for point in points)
    told = [f"Medians; beside them the {spread}." if spread else "Single runs."]
    if any(point.region == "smt" for point in points):
        told.append(f"{SIBLINGS} more workers than cores: two SMT siblings share one.")
    if any(point.region == "oversubscribed" for point in points):
        told.append(f"{OVERSUBSCRIBED} oversubscribed: more workers than CPUs.")
    if any(point.suspect for point in points):
        told.append(f"{SUSPECT} some of these runs are suspect: see below.")
    return [*told, *_states(section), *again(points)]


def _states(section: Section) -> list[str]:
    """The curves whose runs at some N were in another allocator state than at N = 1."""
    told = []
    for curve in section.curves:
        first, *others = curve.points
        known = [point for point in others if point.allocator_state and point.speedup.n]
        apart = [p for p in known if first.allocator_state not in (None, p.allocator_state)]
        if apart:
            ns = ", ".join(str(point.workers) for point in apart)
            told.append(
                f"{curve_name(curve)}: N = 1 ran in the allocator state {first.allocator_state}, "
                f"N = {ns} in {apart[0].allocator_state}; their speed-up tells of that, too."
            )
    return told


def again(points: Iterable[Point]) -> list[str]:
    """That runs were made again, far from the others of their block."""
    count = sum(point.again for point in points)
    if not count:
        return []
    made = f"{wording.plural(count, 'run')} {'was' if count == 1 else 'were'} made again"
    return [f"{made} at the end of the study, and count in the block of the first attempt."]
