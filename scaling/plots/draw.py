"""All figures of a study: a file for each workload variant, sizing and kind, as SVG and PNG."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from scaling.analysis.sections import sections
from scaling.frame.labels import slug
from scaling.journal.record import StudyLine
from scaling.plots import efficiency, memory, throughput
from scaling.plots.sheet import Sheet
from scaling.plots.style import RC
from scaling.plots.subject import Subject, subject

# Each kind of figure with the estimate that it cannot be drawn without.
KINDS: dict[str, tuple[Callable[[Subject], Sheet], str]] = {
    "throughput": (throughput.draw, "throughput"),
    "efficiency": (efficiency.draw, "speedup"),
    "memory": (memory.draw, "memory"),
}


def draw_all(frame: pd.DataFrame, study: StudyLine, folder: Path) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    What no valid run tells has no figure: speed-up without runs at N = 1, say. Raises `OSError`
    if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(RC):
        for stem, about in subjects(frame, study).items():
            for kind, (draw, needed) in KINDS.items():
                if about.has(needed):
                    files += draw(about).save(folder / f"{stem}-{kind}")
    return files


def subjects(frame: pd.DataFrame, study: StudyLine) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    found: dict[str, Subject] = {}
    for section in sections(frame, study):
        stem = f"{slug(section.label)}-{section.sizing}"
        same = sum(name == stem or name.startswith(f"{stem}~") for name in found)
        found[f"{stem}~{same + 1}" if same else stem] = subject(section, study)
    return found
