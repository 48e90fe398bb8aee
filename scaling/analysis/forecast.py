"""A forecast: the intervals of a study's headline ratios, by their scatter in earlier studies.

The logarithm of a ratio scatters from block to block. The scatter is that of an earlier study in
the same folder, else that of the published studies of the workload. A ratio with neither has no
forecast.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from scaling.analysis.statistics.intervals import COVERAGE, both_ends
from scaling.analysis.tables.study import read
from scaling.base.errors import UsageError
from scaling.base.models import workers_in_words
from scaling.journal.reading import journal_in
from scaling.journal.record import Cell
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import Planned
from scaling.study.plan.order import Slot
from scaling.study.plan.table import one_line, reservations
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT, every_ratio

# Standard deviation of the logarithm of the throughput of threads over processes, at the headline
# N: the median over the published studies of each workload.
PUBLISHED: Mapping[str, float] = {
    "app": 0.056,
    "cache": 0.048,
    "compute": 0.037,
    "echo": 0.019,
    "mix": 0.075,
    "primitives": 0.109,
    "scrape": 0.129,
    "serve": 0.034,
    "serve-cache": 0.027,
    "state": 0.075,
    "stream": 0.033,
    "web": 0.055,
}


def half_width(scatter: float, blocks: int) -> float:
    """Half of the interval of 95 % that a ratio will have, as a share; infinite below six blocks.

    `scatter` is the standard deviation of the ratio's logarithm. The interval is that of values
    that are as far apart as those of a normal distribution are on average.
    """
    from scipy.special import ndtri  # slow to import

    places = (np.arange(blocks) + 0.625) / (blocks + 0.25)
    _, high = both_ends(scatter * ndtri(places)[:, np.newaxis], (COVERAGE,))
    return float(np.expm1(high[0, 0]))


def announced(plan: Plan, folder: Path) -> Iterator[str]:
    """The lines printed before a study is measured, in a folder that may hold an earlier one."""
    yield one_line(plan)
    yield from reservations(plan)
    yield from forecast(plan, folder)


def forecast(plan: Plan, folder: Path) -> Iterator[str]:
    """`2 threads over 2 processes: about ±2.4 % after 14 blocks`, for each N and number of blocks.

    `folder` may hold an earlier study.
    """
    earlier, in_later_blocks = _scatters_in(folder), set(plan.headline_slots)
    found: dict[tuple[str, str], list[float]] = {}
    for cell in _headlines(plan):
        is_in_all = Slot(cell) in in_later_blocks
        blocks = plan.study.every_block if is_in_all else plan.study.blocks
        scatter = earlier.get(cell, PUBLISHED.get(cell.workload))
        if scatter is None or blocks < FEWEST_FOR_INTERVAL:
            continue
        about = f"{workers_in_words(cell.model, cell.workers)} over {cell.workers} processes"
        source = f"studies in {folder}" if cell in earlier else "published studies"
        key = about, f"after {blocks} blocks, by the scatter of {source}"
        found.setdefault(key, []).append(100 * half_width(scatter, blocks))
    for (about, when), widths in found.items():
        ends = dict.fromkeys(f"{width:.1f}" for width in (min(widths), max(widths)))
        yield f"{about}: about ±{' to '.join(ends)} % {when}"


def _headlines(plan: Plan) -> Iterator[Cell]:
    """The cells whose throughput over that of processes is a headline of the study."""
    for asked in every_ratio(Planned(plan.cells, plan.topology.region)):
        if asked.headline and (asked.question, asked.measure) == (OVER_PROCESSES, THROUGHPUT):
            yield asked.of


def _scatters_in(folder: Path) -> dict[Cell, float]:
    """The scatter of throughput over processes in a folder's study, by the cell it is of."""
    if journal_in(folder) is None:
        return {}
    try:
        ratios = read(folder).ratios
    except UsageError:  # nothing was measured yet
        return {}
    if ratios.empty:
        return {}
    asked = (ratios["question"] == OVER_PROCESSES) & (ratios["measure"] == THROUGHPUT)
    known = ratios[asked & (ratios["n"] >= FEWEST_FOR_INTERVAL)]
    return dict(zip(known["cell"], known["scatter"].astype(float), strict=True))
