"""The small print under every figure: machine, builds, date, how often, and what is left out."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scaling.analysis.curves.curve import Point
from scaling.analysis.curves.sections import Section
from scaling.base import formats
from scaling.journal.record import ArmRecord, CeilingLine, StudyLine
from scaling.report.plots.ceilings import ceiling_text
from scaling.report.tables.study_notes import machine_text
from scaling.study.caveats import caveats

if TYPE_CHECKING:
    from scaling.report.plots.regions import Region  # with matplotlib

NO_BREAK = "\N{NO-BREAK SPACE}"
UNBROKEN = 60  # letters


def caption(
    section: Section,
    study: StudyLine,
    found: "list[Region]",
    warning: str = "",
    ceilings: Sequence[CeilingLine] = (),
    load: Sequence[str] = (),
) -> str:
    """One paragraph, a `warning` first; what is not known of a machine is left out.

    `load` is how a served workload was loaded (`scaling.report.plots.load_caption`).
    """
    arms = list(dict.fromkeys(curve.key.arm for curve in section.curves))
    points = [point for curve in section.curves for point in curve.points]
    used = sum(point.runs for point in points)
    left_out = sum(point.left_out for point in points)
    suspect = sum(point.suspect for point in points)
    outliers = int(sum(np.nansum(curve.values["outlier"]) for curve in section.curves))
    kept = f"{formats.plural(outliers, 'outlier')} kept, ringed where runs are drawn"
    parts = [
        warning,
        *caveats(study),
        *load,
        machine_text(study),
        builds_text({name: study.arms[name] for name in arms if name in study.arms}),
        study.started_at[:10] if study.started_at else "",
        blocks_text(study.blocks, points),
        oversubscription_text(found),
        ceiling_text(ceilings),
        "each worker pinned to a CPU" if study.study.get("pin") else "",
        f"{formats.plural(left_out, 'invalid run')} left out" if left_out else "",
        f"{suspect} of the {formats.plural(used, 'run')} suspect" if suspect else "",
        kept if outliers else "",
    ]
    return f"{NO_BREAK}· ".join(_whole(part) for part in parts if part)


def _whole(part: str) -> str:
    """A part that is not broken over two lines, if it is short enough for that."""
    return part.replace(" ", NO_BREAK) if len(part) <= UNBROKEN else part


def blocks_text(planned: int | None, points: Sequence[Point]) -> str:
    """`8 blocks`, and that some figures are of fewer, if they are.

    A study that was continued may have more blocks than it began with.
    """
    blocks = max([planned or 0, *(point.runs for point in points)])
    fewer = [point for point in points if point.runs < blocks]
    text = formats.plural(blocks, "block")
    if not fewer:
        return text
    left_out = all(point.left_out for point in fewer)
    return f"{text}, fewer where runs {'were left out' if left_out else 'are missing'}"


def builds_text(arms: dict[str, ArmRecord]) -> str:
    """`3.14, 3.14t: 3.14.7, GCC 12.2.0, no PGO`: arms with the same build stand together."""
    by_build: dict[str, list[str]] = defaultdict(list)
    for name, arm in arms.items():
        if arm.description is not None:
            by_build[_build(arm)].append(name)
        elif arm.runtime is not None:
            by_build[arm.runtime].append(name)
    return "; ".join(f"{', '.join(names)}: {build}" for build, names in by_build.items())


def _build(arm: ArmRecord) -> str:
    assert arm.description is not None
    python = arm.description.python
    made_with = [option for option in python.config_args if option.startswith("-O")]
    if python.pgo is not None:
        made_with.append("PGO" if python.pgo else "no PGO")
    if python.lto:
        made_with.append("LTO")
    return ", ".join([python.version, *([python.compiler] if python.compiler else []), *made_with])


def oversubscription_text(found: "list[Region]") -> str:
    """From which N on workers share CPUs, if the figure goes that far."""
    for region in found:
        if region.name == "oversubscribed" and region.begins is not None:
            return f"N above {int(region.begins)} is oversubscribed on this machine"
        if region.name == "oversubscribed":
            return "every N here is oversubscribed on this machine"
    return ""
