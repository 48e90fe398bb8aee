"""All figures of a study: a file for each workload variant, sizing and kind, as SVG and PNG."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from scaling.analysis.comparison.build_differences import build_differences
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.curves.sections import Section
from scaling.analysis.curves.sweeps import Sweep
from scaling.analysis.results import StudyResults
from scaling.analysis.table.labels import slug
from scaling.journal.record import CeilingLine, StudyLine
from scaling.report.plots import efficiency, ladder, memory, sweep, throughput, trade
from scaling.report.plots.ceilings import ceilings_of
from scaling.report.plots.sheet import FORMATS, Sheet
from scaling.report.plots.style import RC
from scaling.report.plots.subject import Subject, subject

# Each kind of figure, and whether there is what it draws.
KINDS: dict[str, tuple[Callable[[Subject], Sheet], Callable[[Subject], bool]]] = {
    "throughput": (throughput.draw, throughput.is_there),
    "efficiency": (efficiency.draw, efficiency.is_there),
    "memory": (memory.draw, memory.is_there),
    "ladder": (ladder.draw, ladder.is_there),
    "trade": (trade.draw, trade.is_there),
}


def draw_all(
    frame: pd.DataFrame,
    study: StudyLine,
    folder: Path,
    ceilings: Sequence[CeilingLine] = (),
    told: StudyResults | None = None,
    formats: Sequence[str] = tuple(FORMATS),
) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    What no valid run tells has no figure: speed-up without runs at N = 1, say. `ceilings` are of
    the study's services, for the captions; `told` is what was worked out of the study already,
    if anything. Raises `OSError` if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told = told or StudyResults(frame, study)
    files: list[Path] = []
    with mpl.rc_context(RC):
        found = subjects(frame, study, ceilings, told)
        for name, sheet in named_sheets(found, told.sweeps):
            files += sheet.save(folder / name, formats)
    return files


def named_sheets(
    found: Mapping[str, Subject], sweeps: Iterable[Sweep]
) -> Iterator[tuple[str, Sheet]]:
    """Every figure of a study, with the name of its files; to be used inside of `RC`.

    `found` are the study's `subjects`, and `sweeps` are held across their sections.
    """
    for stem, about in found.items():
        for kind, sheet in sheets(about):
            yield f"{stem}-{kind}", sheet
    yield from sweep.sheets(found.values(), sweeps)


def sheets(about: Subject) -> Iterator[tuple[str, Sheet]]:
    """Every figure that can be drawn of a subject, with its kind; to be used inside of `RC`."""
    for kind, (draw, is_there) in KINDS.items():
        if is_there(about):
            yield kind, draw(about)


def subjects(
    frame: pd.DataFrame,
    study: StudyLine,
    ceilings: Sequence[CeilingLine] = (),
    told: StudyResults | None = None,
) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    told = told or StudyResults(frame, study)
    found: dict[str, Subject] = {}
    warning = " ".join(filter(None, [told.soundness.warning, *_unlike(study)]))
    comparisons: dict[Variant, list[Compared]] = defaultdict(list)
    for each in told.compared:
        if not each.is_across_loops:
            comparisons[_variant(each.runs.section)].append(each)
    with_services = set(frame.loc[frame["site_busy_fraction"].notna(), "workload"])
    for section in told.sections:
        served = section.curves[0].key.workload in with_services
        limits = ceilings_of(section, study, ceilings, served=served)
        stem = f"{slug(section.label)}-{section.sizing}"
        same = sum(name == stem or name.startswith(f"{stem}~") for name in found)
        found[f"{stem}~{same + 1}" if same else stem] = subject(
            section, study, warning, comparisons[_variant(section)], limits, told.floor
        )
    return found


type Variant = tuple[str, str, str]


def _variant(section: Section) -> Variant:
    key = section.curves[0].key
    return key.workload, key.parameters, key.sizing


def _unlike(study: StudyLine) -> list[str]:
    """That builds differ in more than what is compared; in what, the tables say in full."""
    facts = [each.fact for each in build_differences(study)]
    return [f"builds differ in {', '.join(facts)}, too"] if facts else []
