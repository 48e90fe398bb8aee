"""All figures of a study: a file for each workload variant, sizing and kind, as SVG and PNG."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

from scaling.analysis.comparison.build_differences import build_differences
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.curves.sections import Section
from scaling.analysis.curves.sweeps import Sweep
from scaling.analysis.results import StudyResults
from scaling.analysis.table.labels import slug
from scaling.journal.record import StudyLine
from scaling.report.plots import sweep
from scaling.report.plots.ceilings import ceilings_of
from scaling.report.plots.plot import Plot
from scaling.report.plots.registry import PLOTS
from scaling.report.plots.sheet import FORMATS, Sheet
from scaling.report.plots.style import RC
from scaling.report.plots.subject import Subject, subject


def draw_all(
    results: StudyResults, folder: Path, formats: Sequence[str] = tuple(FORMATS)
) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    A figure without a single valid run behind it is not drawn: speed-up without runs at N = 1, say.
    Raises `OSError` if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(RC):
        for name, sheet in named_sheets(subjects(results), results.sweeps):
            files += sheet.save(folder / name, formats)
    return files


def named_sheets(
    found: Mapping[str, Subject], sweeps: Iterable[Sweep]
) -> Iterator[tuple[str, Sheet]]:
    """Every figure of a study, with the name of its files; to be used inside of `RC`.

    `found` are the study's `subjects`, and `sweeps` are held across their sections.
    """
    for stem, about in found.items():
        for plot, sheet in sheets(about):
            yield f"{stem}-{plot.name}", sheet
    yield from sweep.sheets(found.values(), sweeps)


def sheets(about: Subject) -> Iterator[tuple[Plot, Sheet]]:
    """Every plot that can be drawn of a subject, with its kind; to be used inside of `RC`."""
    for plot in PLOTS:
        if plot.is_there(about):
            yield plot, plot.draw(about)


def subjects(results: StudyResults) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    frame, study = results.frame, results.study
    found: dict[str, Subject] = {}
    warning = " ".join(filter(None, [results.soundness.warning, *_unlike(study)]))
    comparisons: dict[Variant, list[Compared]] = defaultdict(list)
    for each in results.compared:
        if not each.is_across_loops:
            comparisons[_variant(each.runs.section)].append(each)
    with_services = set(frame.loc[frame["site_busy_fraction"].notna(), "workload"])
    for section in results.sections:
        served = section.curves[0].key.workload in with_services
        limits = ceilings_of(section, study, results.ceilings, served=served)
        stem = f"{slug(section.label)}-{section.sizing}"
        same = sum(name == stem or name.startswith(f"{stem}~") for name in found)
        found[f"{stem}~{same + 1}" if same else stem] = subject(
            section, study, warning, comparisons[_variant(section)], limits, results.floor
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
