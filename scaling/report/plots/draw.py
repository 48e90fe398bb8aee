"""All plots of a study: a file for each workload variant, sizing and kind, as SVG and PNG.

To add a kind of plot, write a module with a `PLOT` and name it in `PLOTS` or `LOAD_PLOTS`.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.analysis.table.groups import slug
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.report.plots import (
    efficiency,
    full_stack,
    ladder,
    latency,
    memory,
    percentiles,
    primitives,
    sweep,
    throughput,
    trade,
    versions,
    waterfall,
)
from scaling.report.plots.caption import ceilings_of, load_text, noise_text
from scaling.report.plots.plot import LoadSubject, Plot, Subject
from scaling.report.plots.sheet import FORMATS, Draw, Sheet
from scaling.report.plots.style import RC
from scaling.report.tables.notes import collections_text
from scaling.report.tables.rates import free_sweeps, rated
from scaling.study.questions import section_of, without_rate

# In the order in which files are written and the page shows them.
PLOTS = (
    throughput.PLOT,
    efficiency.PLOT,
    waterfall.PLOT,
    memory.PLOT,
    ladder.PLOT,
    trade.PLOT,
)
LOAD_PLOTS = (latency.PLOT, percentiles.PLOT, latency.BY_WORKERS)


def draw_all(results: StudyResults, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw everything there is to draw into `folder`, which is made; return the files written.

    A figure without a single valid run behind it is not drawn: speed-up without runs at N = 1, say.
    Raises `OSError` if it cannot write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with mpl.rc_context(RC):
        for name, draw in drawings(results):
            files += draw().save(folder / name, formats)
    return files


def drawn(journal: Journal, name: str) -> Sheet:
    """The plot that `scaling report` writes as `name`.svg, such as `echo-weak-ladder`.

    Raises:
        UsageError: the study has no such plot; it says which there are.
    """
    with mpl.rc_context(RC):
        known = dict(drawings(StudyResults.of(journal)))
        if name in known:
            return known[name]()
    raise UsageError(f"{journal.study.name} has no figure {name!r}; there are {', '.join(known)}")


def drawings(results: StudyResults) -> Iterator[tuple[str, Draw]]:
    """Every figure of a study, with the name of its files; to be used inside of `RC`."""
    found = subjects(results)
    for stem, about in found.items():
        for plot in plots_of(about):
            yield f"{stem}-{plot.name}", partial(plot.draw, about)
    for stem, under_load in loads(results).items():
        for load_plot in load_plots_of(under_load):
            yield f"{stem}-{load_plot.name}", partial(load_plot.draw, under_load)
    yield from full_stack.drawings(results)
    yield from sweep.drawings(results, free_sweeps(results))
    yield from primitives.drawings(results)
    yield from versions.drawings(found.values())


def plots_of(about: Subject) -> list[Plot[Subject]]:
    """Which plots there are of a subject.

    In an open loop throughput is what the schedule asked for: `load_plots_of` has those of that.
    All primitives have one plot together.
    """
    if about.section.rate_per_s is not None or primitives.is_row(about):
        return []
    return [plot for plot in PLOTS if plot.is_there(about)]


def load_plots_of(about: LoadSubject) -> list[Plot[LoadSubject]]:
    """Which plots there are of a served workload at all of its rates."""
    return [plot for plot in LOAD_PLOTS if plot.is_there(about)]


def loads(results: StudyResults) -> dict[str, LoadSubject]:
    """What there is to draw of latency under load, by the beginning of its file name."""
    found: dict[str, LoadSubject] = {}
    for each in rated(results):
        stem = f"{slug(each.label)}-{each.section.sizing}"
        found[_free(stem, found)] = LoadSubject(
            each.section,
            results,
            load=(
                *load_text(each.section, results),
                collections_text(each.section, results),
                noise_text(each.section, results.floor),
            ),
            rated=each,
        )
    return found


def subjects(results: StudyResults) -> dict[str, Subject]:
    """What there is to draw, by the beginning of its file name; each name once."""
    found: dict[str, Subject] = {}
    under_load = {
        section_of(without_rate(each.section.curves[0].key)): each for each in rated(results)
    }
    for section in results.sections:
        key = section.curves[0].key
        limits = ceilings_of(section, results)
        stem = f"{slug(section.label)}-{section.sizing}"
        found[_free(stem, found)] = Subject(
            section,
            results,
            limits,
            tuple(load_text(section, results)),
            under_load.get(section_of(without_rate(key))),
        )
    return found


def _free(stem: str, taken: Collection[str]) -> str:
    """The stem, with a number where it is taken."""
    same = sum(name == stem or name.startswith(f"{stem}~") for name in taken)
    return f"{stem}~{same + 1}" if same else stem
