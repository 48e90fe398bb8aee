"""The study's pictures, each with the table that it was drawn from, put under the questions that
they answer: how it scales, what freed the speed, threads or processes, memory.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Sweep
from scaling.journal.beside import CHECK_FILE
from scaling.report.application import application_grids
from scaling.report.deploy import deploy_commands, deploy_grids
from scaling.report.page.parts import Block, PageFigure, PageSection, Picture, Pictures
from scaling.report.plots import primitives as primitives_plot
from scaling.report.plots import sweep, versions
from scaling.report.plots.draw import load_plots_of, plots_of
from scaling.report.plots.full_stack import drawings
from scaling.report.plots.plot import LoadSubject, Plot, Subject
from scaling.report.tables.check import check_grids, check_sentence, not_checked
from scaling.report.tables.comparison import QUESTIONS
from scaling.report.tables.full_stack import stack_chapters
from scaling.report.tables.grid import Grid, PagePart
from scaling.report.tables.losses import LEGEND, told
from scaling.report.tables.measures import notes
from scaling.report.tables.overview import sweep_grids, sweep_note
from scaling.report.tables.primitives import primitives, primitives_grid
from scaling.report.tables.rates import at_rate_grids, capacity_grids, free_sweeps

PARTS: dict[PagePart, tuple[str, str]] = {
    "curves": ("How it scales", "Throughput, speed-up and efficiency against N."),
    "losses": (
        "What is lost",
        f"N workers should do N times the work of one. {LEGEND}",
    ),
    "ladder": (
        "What freed the speed",
        "Two builds differ in allocator, build options and GIL; each is a step of its own.",
    ),
    "processes": (
        "Threads or processes",
        "The baseline: as many processes on the best arm with the GIL.",
    ),
    "memory": ("Memory", "Memory of the whole process tree, and what each worker adds."),
    "versions": (
        "Versions of Python",
        "Throughput of one loop on each build, and the gain of more; each version over the oldest.",
    ),
    "settings": ("Settings", "Each arm with a setting over the same arm without it."),
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
    titles = PARTS if has_processes else PARTS | {"processes": WITHOUT_PROCESSES}
    for name, draw in versions.drawings(about.values()):
        blocks["versions"].append(Block(figures=[PageFigure(pictures.of(name, name, draw), [])]))
    in_order = sorted(about.items(), key=lambda each: each[1].section.is_control)
    for number, (stem, subject) in enumerate(in_order, start=1):
        drawn: dict[str | None, list[PageFigure]] = defaultdict(list)
        for plot in plots_of(subject):
            draw = partial(plot.draw, subject)
            shown = pictures.of(f"{stem}-{plot.name}", f"f{number}-{plot.name}", draw)
            drawn[plot.part].append(_figure(plot, shown, subject))
        grids = _grids(subject)
        words = {"losses": told(subject.attributions)}
        for part in PARTS:
            blocks[part].append(
                Block(subject.section.title, words.get(part, []), drawn[part], grids.get(part, []))
            )
    return [
        PageSection(name, title, [block for block in blocks[name] if not block.is_empty], note)
        for name, (title, note) in titles.items()
    ]


def _figure(plot: Plot[Subject], shown: Picture, subject: Subject) -> PageFigure:
    below = notes(subject.section) if plot.part != "losses" else []  # those are means
    return PageFigure(shown, plot.tables(subject, shown.title), below)


def _grids(subject: Subject) -> dict[str, list[Grid]]:
    """The tables that no picture shows in full, by part."""
    found: dict[str, list[Grid]] = defaultdict(list)
    for compared in subject.comparisons:
        for question in QUESTIONS:
            if question.part != "ladder":  # those stand behind their picture
                grids = question.grids(compared)
                found[question.part] += [grid.of(compared.title) for grid in grids]
    return found


# -------------------------------------------------------------------------------------------- swept
# The sweeps of a study: throughput against a parameter, and tables with a row for each value.


def sweep_blocks(results: StudyResults, pictures: Pictures) -> list[Block]:
    """A block for each sweep: its picture, and a table for each figure of each of its curves."""
    shown = list(filter(sweep.is_drawn, free_sweeps(results)))
    drawn = pictures.numbered(sweep.drawings(results, shown), "s{}-sweep")
    return [_sweep_block(*each) for each in zip(shown, drawn, strict=True)]


def primitives_blocks(results: StudyResults, pictures: Pictures) -> list[Block]:
    """A block for all primitives on each loop: their gains in a picture, and with verdicts."""
    drawn = pictures.numbered(primitives_plot.drawings(results), "p{}-primitives")
    return [
        Block(rows.title, figures=[PageFigure(shown, [primitives_grid(rows)], is_open=True)])
        for rows, shown in zip(primitives(results), drawn, strict=True)
    ]


def _sweep_block(sweep: Sweep, drawn: Picture) -> Block:
    grids = sweep_grids(sweep)
    shown = PageFigure(drawn, grids, [sweep_note(sweep)])
    return Block(sweep.title, figures=[shown] if grids else [])  # one value has no table


# --------------------------------------------------------------------------------------- full stack
# The full stack on the page: both pictures, and the tables with every figure.


def stack_blocks(results: StudyResults, pictures: Pictures) -> list[Block]:
    """A block with all stacks of the study; none where it has none."""
    drawn = pictures.numbered(drawings(results), "stack-{}")
    figures = [PageFigure(each, []) for each in drawn]
    return [
        Block(words=chapter.words, figures=figures, grids=chapter.grids)
        for chapter in stack_chapters(results)
    ]


# --------------------------------------------------------------------------------------------- load
# Latency under load: the pictures of every served workload in an open loop, with their tables.


def load_blocks(
    about: Mapping[str, LoadSubject], results: StudyResults, pictures: Pictures
) -> list[Block]:
    """A block for each workload, sizing and set of parameters but the rate.

    `about` has them by the beginning of their file names.
    """
    return [
        _load_block(each, stem, f"l{number}", results, pictures)
        for number, (stem, each) in enumerate(about.items(), start=1)
    ]


def _load_block(
    about: LoadSubject, stem: str, name: str, results: StudyResults, pictures: Pictures
) -> Block:
    figures = []
    for plot in load_plots_of(about):
        draw = partial(plot.draw, about)
        shown = pictures.of(f"{stem}-{plot.name}", f"{name}-{plot.name}", draw)
        figures.append(PageFigure(shown, plot.tables(about, shown.title)))
    rated = about.rated
    grids = [*capacity_grids(rated, results.ratios), *at_rate_grids(rated, results)]
    return Block(rated.section.title, figures=figures, grids=grids)


# -------------------------------------------------------------------------------------- application
# Your own application: what to ship, in full.


def application_blocks(results: StudyResults) -> list[Block]:
    """The answer of `scaling app` in tables; empty for a study of anything else."""
    check = CHECK_FILE.beside(results.path)
    tables = [
        *application_grids(results),
        *deploy_grids(deploy_commands(results)),
        *check_grids(check),
    ]
    said = [check_sentence(check), *not_checked(check)[1:]] if check else []
    return [Block(words=said, grids=tables)]
