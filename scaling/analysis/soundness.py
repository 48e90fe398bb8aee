"""Whether a study can be trusted: what its controls show, and how its builds differ."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
import pandas as pd

from scaling.analysis.curves import Curve, Point, curves
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.groups import require_one_study
from scaling.base.formats import listed
from scaling.base.vocabulary import THREADS
from scaling.journal.record import ArmRecord, Cell, Environment, Machine, StudyLine
from scaling.study.controls import (
    CONTROLS,
    COUNTS,
    arms_with_controls,
    has_control,
    is_control,
)

# ----------------------------------------------------------------------------------------- controls
# The controls: do machine and builds behave as they must?
#
# `compute` shares nothing: it must gain with every core without the GIL, and not gain with it.
# `shared`, an attribute written by all, must not gain on either. A control fails only if its whole
# interval (or range) is on the wrong side of the limit. The study is then void: what disturbs the
# simplest workload disturbs all others. A control holds only if its median is on the right side; in
# between it is undecided.

# What a further core must add at least, as a share of the first. Free-threaded `compute` reaches
# 1.9 and more at N = 2 on idle physical cores; 0.6 leaves room for processors that clock lower with
# every busy core, and is far from the 0.3 of an SMT sibling that is sold as a core.
LEAST_GAIN = 0.6
MOST_WITH_GIL = 1.15  # one worker runs at a time; the rest is noise and work outside the GIL
MOST_SHARED = 1.10  # every write moves the cache line to another core: no gain
FEWEST_FOR_PROOF = 2  # a single run has no range, and proves nothing

UNKNOWN = "nothing shows whether machine and builds behave"


@dataclass(frozen=True, slots=True)
class ControlOutcome:
    """A cell of a control: its speed-up, and what it must be. One of `least` and `most` is None."""

    cell: Cell
    speedup: Estimate
    least: float | None = None
    most: float | None = None

    @property
    def fails(self) -> bool:
        """Whether the whole interval is on the wrong side."""
        if self.speedup.n < FEWEST_FOR_PROOF:
            return False
        if self.least is not None:
            return self.speedup.high < self.least
        return self.most is not None and self.speedup.low > self.most

    @property
    def holds(self) -> bool:
        """Whether the median is on the right side."""
        point = self.speedup.point
        return point >= self.least if self.least is not None else point <= (self.most or 0.0)

    @property
    def expected(self) -> str:
        """`at least 1.6`, `at most 1.1`."""
        return f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"

    @property
    def text(self) -> str:
        """What was found and what was expected."""
        cell, found = self.cell, f"{self.speedup!s} times N = 1"
        where = f"{cell.workload} · {cell.loop} · {cell.arm} at N = {cell.workers}"
        return f"{where}: {found if self.speedup.n else 'no valid run'}, expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Soundness:
    """What the controls show about a study, with reasons unless it is sound."""

    status: Literal["sound", "void", "undecided", "missing", "on some arms", "left out"]
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The line at the top of every output; empty for a sound study, and for one of `scaling
        app`, whose user did not leave the controls out.
        """
        reasons = "; ".join(self.reasons)
        return {
            "sound": "",
            "void": f"VOID: the controls fail, so no figure of this study is valid: {reasons}",
            "undecided": f"Controls undecided, so no figure of this study can be trusted yet: "
            f"{reasons}",
            "missing": f"Controls missing: {reasons}",
            "on some arms": f"Controls were run on {reasons} only, and hold there",
            "left out": f"Controls left out: {reasons}" if reasons else "",
        }[self.status]

    @property
    def warning(self) -> str:
        """The same in few words; in full only if the study is void."""
        if self.status == "void":
            return self.text
        return f"controls {self.status}" if self.text else ""


def soundness_of(found: list[ControlOutcome], study: StudyLine) -> Soundness:
    """The status that follows from all controls of a study (`outcomes`)."""
    failed = [each.text for each in found if each.fails]
    if failed:
        return Soundness("void", tuple(failed))
    undecided = [each.text for each in found if each.speedup.n and not each.holds]
    failed_to_run = [each.text for each in found if not each.speedup.n]
    ran = {(each.cell.workload, each.cell.arm) for each in found}
    lacking = [
        f"{control} on {arm}"
        for arm, found_as in study.arms.items()
        for control in CONTROLS
        if (control, arm) not in ran and not found_as.runtime and has_control(arm, control)
    ]
    missing = (*failed_to_run, *lacking)
    if undecided:
        return Soundness("undecided", (*undecided, *(f"missing: {each}" for each in missing)))
    if not missing:
        return Soundness("sound")
    if study.study.get("controls") is False and not failed_to_run:
        if not found:
            return Soundness("left out", () if "application" in study.study else (UNKNOWN,))
        if own := arms_with_controls(study.arms, ran):
            return Soundness("on some arms", (listed(own),))
    return Soundness("missing", missing)


def outcomes(frame: pd.DataFrame, study: StudyLine) -> Iterator[ControlOutcome]:
    """Every control of the study at every N that can be judged.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    runs = frame[frame["workload"].isin(list(CONTROLS)) & (frame["model"] == THREADS)]
    controls, arms = list(CONTROLS), list(study.arms)

    def is_judged(curve: Curve) -> bool:
        return curve.key.arm in arms and is_control(curve.key.workload, curve.key.parameters)

    def place(curve: Curve) -> tuple[object, ...]:
        return controls.index(curve.key.workload), curve.key.loop, arms.index(curve.key.arm)

    for curve in sorted(filter(is_judged, curves(runs)), key=place):
        for point in curve.points:
            yield from _outcomes(curve, point, study)


def _outcomes(curve: Curve, point: Point, study: StudyLine) -> Iterator[ControlOutcome]:
    key, n = curve.key, point.workers
    two = n == max(COUNTS)
    if n < 2:
        return
    least = most = None
    if key.workload == "shared":
        most = MOST_SHARED if two else None
    elif study.arms[key.arm].expected.gil_enabled:
        most = MOST_WITH_GIL if two else None
    elif _has_a_core_each(point, study.machine):
        least = 1 + LEAST_GAIN * (n - 1)
    if least is not None or most is not None:
        yield ControlOutcome(key.but(workers=n), point.speedup, least, most)


def _has_a_core_each(point: Point, machine: Machine) -> bool:
    """Whether each worker can have a core, and not an efficiency core."""
    if point.region != "cores":
        return False
    full = (machine.physical_cores or point.workers) - (machine.efficiency_cpus or 0)
    return point.workers <= full


# ------------------------------------------------------------------------------------------- builds
# Arms whose builds differ in more than the thing compared: found, so that no table hides it.
#
# Two builds with another compiler or OpenSSL differ by more than the GIL, and their ratio says
# nothing about it. Intended differences are ignored: having the GIL or not, the allocator that
# comes with it, and the version where two versions are compared, with the backports that the older
# one needs.

MEANT = frozenset({"--disable-gil"})
BACKPORTS = frozenset({"typing_extensions"})  # what newer versions have in them


@dataclass(frozen=True, slots=True)
class BuildDifference:
    """One fact in which arms differ: each of its values, with the arms that have it."""

    fact: str
    values: dict[str, list[str]]

    def __str__(self) -> str:
        """`OpenSSL: 3.0.19 (3.14), 3.5.1 (3.14t)`."""
        values = (f"{value} ({', '.join(arms)})" for value, arms in self.values.items())
        return f"{self.fact}: {', '.join(values)}"


def build_differences(study: StudyLine) -> list[BuildDifference]:
    """Everything that the study's arms differ in and should not.

    A value that could not be read is not compared; an arm without a description is listed as
    `not known`. Other runtimes than Python are meant to differ.
    """
    known = {name: arm.description for name, arm in study.arms.items() if arm.description}
    found = [_compared(fact, of, known) for fact, of in FACTS.items()]
    found += [
        _compared(f"version of {minor}", lambda each: each.python.version, arms)
        for minor, arms in _by_minor(study.arms).items()
    ]
    packages = sorted({name for each in known.values() for name in each.packages} - BACKPORTS)
    found += [_compared(name, _package(name), known) for name in packages]
    differing = [each for each in found if len(each.values) > 1]
    blank = [name for name, arm in study.arms.items() if name not in known and not arm.runtime]
    if blank and len(study.arms) > 1:
        differing.append(BuildDifference("build", {"not known": blank}))
    return differing


def build_differences_of(study: StudyLine, arms: Collection[str]) -> list[BuildDifference]:
    """The same of these arms of the study alone."""
    named = {name: arm for name, arm in study.arms.items() if name in arms}
    return build_differences(msgspec.structs.replace(study, arms=named))


def _options(environment: Environment) -> str:
    options = sorted(set(environment.python.config_args) - MEANT)
    return " ".join(options) or "none"


def _switch(value: bool | None) -> str | None:
    return None if value is None else ("off", "on")[value]


FACTS: dict[str, Callable[[Environment], str | None]] = {
    "compiler": lambda each: each.python.compiler,
    "PGO": lambda each: _switch(each.python.pgo),
    "LTO": lambda each: _switch(each.python.lto),
    "OpenSSL": lambda each: each.python.openssl,
    "libc": lambda each: each.python.libc,
    "configure options": _options,
}


def _package(name: str) -> Callable[[Environment], str | None]:
    return lambda each: each.packages.get(name, "absent")


def _compared(
    fact: str, of: Callable[[Environment], str | None], arms: Mapping[str, Environment]
) -> BuildDifference:
    values: dict[str, list[str]] = defaultdict(list)
    for name, environment in arms.items():
        value = of(environment)
        if value is not None:
            values[value].append(name)
    return BuildDifference(fact, dict(values))


def _by_minor(arms: Mapping[str, ArmRecord]) -> dict[str, dict[str, Environment]]:
    """Arms by `3.14`: their versions should agree to the last digit."""
    found: dict[str, dict[str, Environment]] = defaultdict(dict)
    for name, arm in arms.items():
        if arm.description is not None:
            minor = ".".join(arm.description.python.version.split(".")[:2])
            found[minor][name] = arm.description
    return found
