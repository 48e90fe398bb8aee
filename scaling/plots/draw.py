"""All figures of a study: a file for each workload variant, sizing and kind, as SVG and PNG."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from scaling.labels import slug
from scaling.plots import efficiency, memory, throughput
from scaling.plots.sheet import Sheet
from scaling.plots.style import RC
from scaling.plots.subject import Subject, subject
from scaling.record import StudyLine
from scaling.sections import sections

KINDS: dict[str, Callable[[Subject], Sheet]] = {
    "throughput": throughput.draw,
    "efficiency": efficiency.draw,
    "memory": memory.draw,
}


def draw_all(frame: pd.DataFrame, study: StudyLine, folder: Path) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    A section without a single valid run has no figure. Raises `OSError` if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(RC):
        for stem, about in subjects(frame, study).items():
            for kind, draw in KINDS.items():
                files += draw(about).save(folder / f"{stem}-{kind}")
    return files


def subjects(frame: pd.DataFrame, study: StudyLine) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    found: dict[str, Subject] = {}
    for section in sections(frame, study):
        if not any(point.runs for curve in section.curves for point in curve.points):
            continue
        stem = f"{slug(section.label)}-{section.sizing}"
        same = sum(name == stem or name.startswith(f"{stem}~") for name in found)
        found[f"{stem}~{same + 1}" if same else stem] = subject(section, study)
    return found
