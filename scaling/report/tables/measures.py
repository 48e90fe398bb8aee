"""Which figures a table shows of each cell, in what unit, under what heading; and in CSV files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path

import pandas as pd

from scaling.analysis.curves import MIB, READINGS, Curve, Point
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section, Track
from scaling.analysis.statistics.estimate import NO_VALUE, Estimate, bounds_kind
from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.run_fields import is_count, readable, unit_of
from scaling.base import formats
from scaling.report.tables.grid import Cell as GridCell
from scaling.report.tables.grid import Grid

OVERSUBSCRIBED, SIBLINGS, SUSPECT = "*", "~", "?"
MARKS = {"smt": SIBLINGS, "oversubscribed": OVERSUBSCRIBED}

# Units that figures come in, and those in which people read them.
READ_IN = {"s": ("ms", 1e3), "B": ("MiB", 1 / MIB)}
OWN_PLACE = 80  # among the places of `Shown`


def in_ms(value: Estimate) -> Estimate:
    """A time in s, as people read it."""
    unit, factor = READ_IN["s"]
    return value.scaled(factor, unit)


@dataclass(frozen=True, slots=True)
class Measure:
    """One column of figures: `read` has it in the unit of the frame, `shown` how tables have it."""

    read: Callable[[Point], Estimate]
    shown: Shown

    def of(self, point: Point) -> Estimate:
        """The estimate of this measure, in the unit in which it is shown."""
        return self.read(point).scaled(self.shown.factor, self.shown.heading)


def measures(section: Section) -> list[Measure]:
    """The columns for a section, in order of interest.

    The first ones every section has; of the others those that any of its cells has a value for.
    """
    points = _points(section)
    finite = any(point.figures["finish_s"].n for point in points)
    of_points = {
        "speedup": Shown(heading="speed-up", name="speedup", swept=True, place=20),
        "efficiency": Shown(heading="efficiency", name="efficiency", place=30),
        "memory": Shown(heading=f"{section.memory_kind} MiB", name="memory_mib", place=50),
    }
    of_columns = {
        name: replace(shown, heading=shown.heading.format(operation=section.operation))
        for name, column in SHOWN.items()
        if (shown := column.shown)
        and name != READINGS[section.memory_kind]  # `memory` has it
        and (finite or not shown.finite_only)
        and (shown.always or any(point.figures[name].n for point in points))
    }
    every = [
        Measure(methodcaller("estimate", name), shown)
        for name, shown in (of_points | of_columns).items()
    ]
    return sorted([*every, *_own(points)], key=lambda measure: measure.shown.place)


def _own(points: Iterable[Point]) -> list[Measure]:
    """The workload's own figures: times and rates first, what it counted after them."""
    names = dict.fromkeys(name for point in points for name in point.own if point.own[name].n)
    return [_own_measure(name) for name in sorted(names, key=is_count)]


def _own_measure(name: str) -> Measure:
    """Its column is called `own_…`, so that it takes no other's place: `own_settle_max_ms`."""
    own_unit = unit_of(name)
    unit, factor = READ_IN.get(own_unit, (own_unit, 1.0))
    column = name if factor == 1 else f"{name.rpartition('_')[0]}_{unit.lower()}"
    heading = f"{readable(name)} {unit}".replace(" /", "/").strip()
    shown = Shown(
        heading=heading,
        name=f"own_{column.strip('_')}",
        factor=factor,
        swept=not is_count(name),
        place=OWN_PLACE,
    )
    return Measure(lambda point: point.own.get(name, NO_VALUE), shown)


def _points(section: Section) -> list[Point]:
    return [point for curve in section.curves for point in curve.points]


def values_grid(
    section: Section, shown: Sequence[Measure], title: str = "", note: str = ""
) -> Grid:
    """A row for each N of each curve, a column for each figure that is shown."""
    rows: list[list[GridCell]] = [
        [
            curve_name(curve),
            marked(point),
            runs_of(point),
            *(measure.of(point) for measure in shown),
        ]
        for curve in section.curves
        for point in curve.points
    ]
    headings = ["curve", "N", "runs", *(measure.shown.heading for measure in shown)]
    return Grid(title, headings, rows, 2, note, grouped=True)


def runs_of(point: Point) -> str:
    """How many runs it has, marked where some are suspect."""
    return f"{point.runs}{SUSPECT if point.suspect else ''}"


def marked(point: Point) -> str:
    """Its N, with the mark of what N means on this machine."""
    return f"{point.workers}{MARKS.get(point.region or '', '')}"


def curve_name(curve: Curve | Track) -> str:
    """Loop, arm and model: which curve of its section it is."""
    return f"{curve.key.loop} · {curve.key.arm} · {curve.key.model}"


def notes(section: Section) -> list[str]:
    """What the figures of a section are, and what the marks at its numbers mean."""
    points = _points(section)
    lines = [medians_note(points)]
    if any(point.figures["finish_s"].n for point in points):
        lines.append("Finish: from the release of all workers to the last one's finish.")
        if any(point.figures["peak_bytes"].n for point in points):
            lines.append("Peak: the highest resident memory, imports included.")
    if any(point.figures["latency_mean_s"].n for point in points):
        lines.append(
            "Mean and percentiles of single operations, closed-loop: each begins when another has "
            "ended, however late that was."
        )
    if any(point.region == "smt" for point in points):
        lines.append(f"{SIBLINGS} more workers than cores: two SMT siblings share one.")
    if any(point.region == "oversubscribed" for point in points):
        lines.append(f"{OVERSUBSCRIBED} oversubscribed: more workers than CPUs.")
    if any(point.suspect for point in points):
        lines.append(f"{SUSPECT} some of these runs are suspect: see below.")
    return [*lines, *_states(section), *again(points)]


def medians_note(points: Iterable[Point]) -> str:
    """What stands beside medians, if there is more than a run each."""
    kind = bounds_kind(point.throughput for point in points)
    return f"Medians; beside them the {kind}." if kind else "Single runs."


def _states(section: Section) -> list[str]:
    """The curves whose runs at some N were in another allocator state than at N = 1."""
    lines = []
    for curve in section.curves:
        first, *others = curve.points
        known = [point for point in others if point.allocator_state and point.speedup.n]
        apart = [p for p in known if first.allocator_state not in (None, p.allocator_state)]
        if apart:
            ns = ", ".join(str(point.workers) for point in apart)
            lines.append(
                f"{curve_name(curve)}: N = 1 ran in the allocator state {first.allocator_state}, "
                f"N = {ns} in {apart[0].allocator_state}; their speed-up includes this difference."
            )
    return lines


def again(points: Iterable[Point]) -> list[str]:
    """That runs were made again, far from the others of their block."""
    count = sum(point.again for point in points)
    if not count:
        return []
    made = f"{formats.plural(count, 'run')} {'was' if count == 1 else 'were'} made again"
    counts = "counts" if count == 1 else "count"
    return [
        f"{made} (invalid or disturbed at first), and {counts} in the block of the first attempt."
    ]


# ------------------------------------------------------------------------------------------ columns
# How figures are written for other programs: the same columns in every CSV file.


def estimate_columns(name: str, value: Estimate) -> dict[str, object]:
    """An estimate as columns: `name` is the median, the others begin with it.

    `_low` and `_high` are its bounds, `_n` is how many values it rests on, `_method` how the bounds
    were made, `_coverage` the share of such intervals that hold the true median (blank for a
    range), and `_spread` how far single values lie apart
    (`scaling.analysis.statistics.estimate.Estimate`).
    """
    return {
        name: value.point,
        f"{name}_low": value.low,
        f"{name}_high": value.high,
        f"{name}_n": value.n,
        f"{name}_method": value.method,
        f"{name}_coverage": value.coverage,
        f"{name}_spread": value.spread,
    }


def study_columns(results: StudyResults) -> dict[str, object]:
    """What no figure of a study must be read without: what its `controls` say, its `scale`, and
    that it is `simulated`, if it is.
    """
    study = results.study
    about = {"controls": results.soundness.status, "scale": study.study.get("scale", 1.0)}
    return about | ({"simulated": True} if study.simulated else {})


def write_rows(rows: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, with more digits than are significant. Raises `OSError`."""
    rows.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
