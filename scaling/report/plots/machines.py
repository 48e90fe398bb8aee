"""Speed-up on several machines: a panel for each, with its own borders, on one scale."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats
from scaling.report.plots import efficiency
from scaling.report.plots.draw import subjects
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.report.plots.plot import MOST_COLUMNS, Subject
from scaling.report.plots.sheet import Layout, Sheet, key_entries, new_sheet
from scaling.report.plots.style import arm_colours
from scaling.report.tables.notes import machine_text
from scaling.report.tables.rated import rate_of

NOISE = "A/A pairs: how far equal cells differ"
MODEL = "threads"  # where the curves of all models are too many for a panel


def machine_sheets(machines: Mapping[str, StudyResults]) -> Iterator[tuple[str, Sheet]]:
    """A sheet for each section and loop with a speed-up, with a name for it.

    To be used inside of `RC`, as all sheets.
    """
    found: dict[str, dict[str, Subject]] = {}
    for label, results in machines.items():
        for name, subject in subjects(results).items():
            is_open = rate_of(subject.section, subject.study) is not None
            if not is_open and efficiency.is_there(subject):
                found.setdefault(name, {})[label] = subject
    for name, of in found.items():
        for loop in dict.fromkeys(loop for each in of.values() for loop in each.loops):
            yield f"{name}-{loop.replace('/', '-')}", _sheet(of, loop)


def _sheet(of: Mapping[str, Subject], loop: str) -> Sheet:
    model = MODEL if any(each.is_crowded for each in of.values()) else None
    shown = {label: each.on(loop, model) for label, each in of.items()}
    curves = [curve for some in shown.values() for curve in some]
    first = next(iter(of.values()))
    arms = tuple(dict.fromkeys(curve.key.arm for curve in curves))
    models = list(dict.fromkeys(curve.key.model for curve in curves))
    kind = bounds_kind([point.speedup for curve in curves for point in curve.points])
    band = NOISE if any(each.noise("speedup") > 0 for each in of.values()) else ""
    warnings = (f"{label}: {each.warning}." for label, each in of.items() if each.warning)
    places = (f"{label}: {machine_text(each.study)}." for label, each in of.items())
    sheet = new_sheet(
        f"{first.section.label}: speed-up on {formats.plural(len(of), 'machine')}",
        f"{first.section.sizing} sizing · {formats.listed(models)} · {loop}",
        key_entries(arm_colours(arms), models, kind, "ideal: N times as fast", band=band),
        " ".join([*warnings, *places]),
        Layout(len(of), min(len(of), MOST_COLUMNS), efficiency.HEIGHT_IN),
    )
    top = HEAD_ROOM * highest(curves, "speedup")
    for axes, (label, each) in zip(sheet.all_panels, of.items(), strict=True):
        drawn = replace(each, beside=arms)
        draw_curves(axes, drawn, loop, "speedup", model)
        efficiency.draw_ideal(axes, shown[label])
        finish(axes, drawn, label, efficiency.SPEEDUP, top)
    return sheet
