"""All figures of a study: a file for each workload variant, sizing and kind, as SVG and PNG."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from scaling.analysis.alike import unlike
from scaling.analysis.comparison import Compared, compare_ways
from scaling.analysis.controls import soundness
from scaling.analysis.noise import noise_floor
from scaling.analysis.sections import Section, sections
from scaling.frame.labels import slug
from scaling.journal.record import CeilingLine, StudyLine
from scaling.plots import efficiency, ladder, memory, sweep, throughput, trade
from scaling.plots.sheet import Sheet
from scaling.plots.style import RC
from scaling.plots.subject import Subject, subject

# Each kind of figure with the estimate that it cannot be drawn without.
KINDS: dict[str, tuple[Callable[[Subject], Sheet], str]] = {
    "throughput": (throughput.draw, "throughput"),
    "efficiency": (efficiency.draw, "speedup"),
    "memory": (memory.draw, "memory"),
}

# Figures that hold arms or models against each other, and what they cannot be drawn without.
COMPARING: dict[str, tuple[Callable[[Subject], Sheet], Callable[[Subject], bool]]] = {
    "ladder": (ladder.draw, ladder.is_there),
    "trade": (trade.draw, trade.is_there),
}


def draw_all(
    frame: pd.DataFrame,
    study: StudyLine,
    folder: Path,
    ceilings: Sequence[CeilingLine] = (),
    compared: Sequence[Compared] | None = None,
) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    What no valid run tells has no figure: speed-up without runs at N = 1, say. `ceilings` are of
    the study's services, for the captions; `compared` is what `compare_ways` made of the study,
    worked out here if it is not given. Raises `OSError` if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(RC):
        found = subjects(frame, study, ceilings, compared)
        for stem, about in found.items():
            for kind, sheet in sheets(about):
                files += sheet.save(folder / f"{stem}-{kind}")
        for stem, sheet in sweep.sheets(found.values(), study):
            files += sheet.save(folder / stem)
    return files


def sheets(about: Subject) -> Iterator[tuple[str, Sheet]]:
    """Every figure that can be drawn of a subject, with its kind; to be used inside of `RC`."""
    for kind, (draw, needed) in KINDS.items():
        if about.has(needed):
            yield kind, draw(about)
    for kind, (draw, is_there) in COMPARING.items():
        if is_there(about):
            yield kind, draw(about)


def subjects(
    frame: pd.DataFrame,
    study: StudyLine,
    ceilings: Sequence[CeilingLine] = (),
    compared: Sequence[Compared] | None = None,
) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    found: dict[str, Subject] = {}
    warning = " ".join(filter(None, [soundness(frame, study).warning, *_unlike(study)]))
    comparisons: dict[Variant, list[Compared]] = defaultdict(list)
    for each in compare_ways(frame, study) if compared is None else compared:
        if not each.is_across_loops:
            comparisons[_variant(each.runs.section)].append(each)
    floor = noise_floor(frame, study)
    helped = set(frame.loc[frame["site_busy_fraction"].notna(), "workload"])
    for section in sections(frame, study):
        limits = ceilings if section.curves[0].key.workload in helped else ()
        stem = f"{slug(section.label)}-{section.sizing}"
        same = sum(name == stem or name.startswith(f"{stem}~") for name in found)
        found[f"{stem}~{same + 1}" if same else stem] = subject(
            section, study, warning, comparisons[_variant(section)], limits, floor
        )
    return found


type Variant = tuple[str, str, str]


def _variant(section: Section) -> Variant:
    key = section.curves[0].key
    return key.workload, key.parameters, key.sizing


def _unlike(study: StudyLine) -> list[str]:
    """That builds differ in more than what is compared; in what, the tables say in full."""
    facts = [each.fact for each in unlike(study)]
    return [f"builds differ in {', '.join(facts)}, too"] if facts else []
