"""The study's pictures, each with the table that it was drawn from, put under the questions that
they answer: how it scales, what freed the speed, threads or processes, memory.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

import matplotlib as mpl

from scaling.report.page.parts import Block, PageFigure, PageSection
from scaling.report.page.picture import Picture, Pictures
from scaling.report.plots import versions
from scaling.report.plots.draw import plots_of
from scaling.report.plots.plot import Plot
from scaling.report.plots.style import RC
from scaling.report.plots.subject import Subject
from scaling.report.tables.grid import Grid, PagePart
from scaling.report.tables.loss_sentences import LEGEND
from scaling.report.tables.losses import told
from scaling.report.tables.measures import notes
from scaling.report.tables.questions.registry import QUESTIONS

CURVES: PagePart = "curves"
LOSSES: PagePart = "losses"
LADDER: PagePart = "ladder"
PROCESSES: PagePart = "processes"
MEMORY: PagePart = "memory"
VERSIONS: PagePart = "versions"
SETTINGS: PagePart = "settings"
PARTS: dict[PagePart, tuple[str, str]] = {
    CURVES: ("How it scales", "Throughput, speed-up and efficiency against N."),
    LOSSES: (
        "What is lost",
        f"N workers should do N times the work of one. {LEGEND}",
    ),
    LADDER: (
        "What freed the speed",
        "Two builds differ in allocator, build options and GIL; each is a step of its own.",
    ),
    PROCESSES: (
        "Threads or processes",
        "The baseline: as many processes on the best arm with the GIL.",
    ),
    MEMORY: ("Memory", "Memory of the whole process tree, and what each worker adds."),
    VERSIONS: (
        "Versions of Python",
        "Throughput of one loop on each build, and the gain of more; each version over the oldest.",
    ),
    SETTINGS: ("Settings", "Each arm with a setting over the same arm without it."),
}
# The same part of a study without processes to compare with.
WITHOUT_PROCESSES = (
    "What memory buys",
    "Throughput against memory; threads without the GIL against the best single worker with it.",
)


def figure_parts(about: Mapping[str, Subject], pictures: Pictures) -> list[PageSection]:
    """The parts that hold pictures, and a block in each for every section that has any.

    `about` has the subjects by the beginning of their file names.
    """
    blocks: dict[str, list[Block]] = defaultdict(list)
    compared = [found for each in about.values() for found in each.comparisons]
    has_processes = any(found.over_processes for found in compared)
    titles = PARTS if has_processes else PARTS | {PROCESSES: WITHOUT_PROCESSES}
    with mpl.rc_context(RC):
        if of_versions := versions.sheet(about.values()):
            shown = pictures.of(versions.NAME, versions.NAME, lambda: of_versions)
            blocks[VERSIONS].append(Block(figures=[PageFigure(shown, [])]))
        in_order = sorted(about.items(), key=lambda each: each[1].section.is_control)
        for number, (stem, subject) in enumerate(in_order, start=1):
            drawn: dict[str, list[PageFigure]] = defaultdict(list)
            for plot in plots_of(subject):
                draw = partial(plot.draw, subject)
                shown = pictures.of(f"{stem}-{plot.name}", f"f{number}-{plot.name}", draw)
                drawn[plot.part].append(_figure(plot, shown, subject))
            grids = _grids(subject)
            words = {LOSSES: told(subject.attributions)}
            for part in PARTS:
                blocks[part].append(
                    Block(
                        subject.section.title,
                        words.get(part, []),
                        drawn[part],
                        grids.get(part, []),
                    )
                )
    return [
        PageSection(name, title, [block for block in blocks[name] if not block.is_empty], note)
        for name, (title, note) in titles.items()
    ]


def _figure(plot: Plot, shown: Picture, subject: Subject) -> PageFigure:
    below = notes(subject.section) if plot.part != LOSSES else []  # those are means
    return PageFigure(shown, plot.tables(subject, shown.title), below)


def _grids(subject: Subject) -> dict[str, list[Grid]]:
    """The tables that no picture shows in full, by part."""
    found: dict[str, list[Grid]] = defaultdict(list)
    for compared in subject.comparisons:
        for question in QUESTIONS:
            if question.part != LADDER:  # those stand behind their picture
                grids = question.grids(compared, subject.study)
                found[question.part] += [grid.of(compared.title) for grid in grids]
    return found
