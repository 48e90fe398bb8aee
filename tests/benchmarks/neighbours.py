"""Do the two cells of a ratio scatter less in blocks where they were neighbours in every turn?

Nothing is measured: published journals have the answer. The cells of a group take turns in an order
that is drawn anew for each block, so two cells are neighbours in some blocks and not in others. The
figure has a value for each study: how far the log ratio of two cells is from its median over
blocks, on average in blocks where they were neighbours, over that in all other blocks. Each pair of
cells counts in units of its own scatter. Studies of 2.0 keep the cells of headline ratios together
(`scaling.study.plan.groups.turn_order`), which takes such pairs out of the comparison.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import log
from pathlib import Path
from typing import NamedTuple

from scaling.analysis.table.load import read_journal
from scaling.journal.reading import find_journal, published_in, read_lines
from scaling.journal.record import Cell, RunLine
from scaling.study.presets import FEWEST_FOR_INTERVAL
from tests.benchmarks.figure import Effort, Figure

PUBLISHED = Path(__file__).resolve().parents[2] / "results" / "published"
TO_STANDARD_DEVIATION = 1.4826  # from the median absolute deviation of a normal distribution
NOISY = 0.04  # the scatter of a pair in a noisy hour, as a standard deviation
FARTHEST = 10  # scatters: one disturbed block is not to decide
FEWEST = 20  # values of a study on both sides


class Turn(NamedTuple):
    """One run of a group; `counts`: it is valid, and the first run of its cell."""

    opened_ns: int
    cell: Cell
    counts: bool
    operations_per_s: float


class Block(NamedTuple):
    """A pair of cells in one block."""

    log_ratio: float
    are_neighbours: bool


type Pairs = dict[tuple[Cell, Cell], list[Block]]


def figures(effort: Effort) -> Iterator[Figure]:
    """The scatter of neighbours over that of others."""
    del effort  # all of the journals are read
    studies = [_pairs(path) for path in published_in(PUBLISHED)]
    for name, least, models in (
        ("all pairs", 0.0, 1),
        ("two models", 0.0, 2),
        (f"two models, noisy ({NOISY:.0%})", NOISY, 2),
    ):
        compared = [_near_over_far(each, least, models) for each in studies]
        values = [each for each in compared if each is not None]
        yield Figure(f"neighbours: {name}", values)


def _pairs(folder: Path) -> Pairs:
    """The blocks of all pairs of cells with one number of workers that took turns in a group.

    Each attempt counts as a block. Second runs of A/A pairs and invalid runs have a place in the
    order, and are in no ratio.
    """
    every = read_lines(find_journal(folder), lambda _: None)
    lines = [each for each in every if isinstance(each, RunLine)]
    frame = read_journal(folder).frame
    rates = frame["throughput_per_s"].where(frame["valid"])
    groups: dict[tuple[int, int | None, int], list[Turn]] = defaultdict(list)
    for line, rate in zip(lines, rates.tolist(), strict=True):
        opened_ns = _opened_ns(line)
        if line.group is not None and opened_ns is not None:
            turn = Turn(opened_ns, line.cell, line.repeat == 0 and rate > 0, rate)
            groups[line.block, line.group, line.attempt].append(turn)
    pairs: Pairs = defaultdict(list)
    for turns in groups.values():
        order = enumerate(sorted(turns, key=lambda turn: turn.opened_ns))
        counted = [(place, turn) for place, turn in order if turn.counts]
        for (place, one), (other_place, other) in combinations(counted, 2):
            if len(turns) == 2 or one.cell.workers != other.cell.workers:
                continue
            over, under = sorted((one, other), key=lambda turn: str(turn.cell))
            ratio = over.operations_per_s / under.operations_per_s
            pairs[over.cell, under.cell].append(Block(log(ratio), other_place - place == 1))
    return pairs


def _opened_ns(run: RunLine) -> int | None:
    """The beginning of its first slice, if it has any."""
    slices = [each.slices for each in run.record.workers] if run.record else []
    return min((each.opened_ns[0] for each in slices if each and each.opened_ns), default=None)


def _near_over_far(pairs: Pairs, least: float, models: int) -> float | None:
    """The ratio of one study, of pairs that scatter by at least so much; None if it has too few."""
    near: list[float] = []
    far: list[float] = []
    for (over, under), blocks in pairs.items():
        if len(blocks) < FEWEST_FOR_INTERVAL or len({over.model, under.model}) < models:
            continue
        middle = statistics.median(each.log_ratio for each in blocks)
        away = [abs(each.log_ratio - middle) for each in blocks]
        scatter = statistics.median(away) * TO_STANDARD_DEVIATION
        if scatter == 0 or scatter < least:
            continue
        for each, from_middle in zip(blocks, away, strict=True):
            (near if each.are_neighbours else far).append(min(from_middle / scatter, FARTHEST))
    if min(len(near), len(far)) < FEWEST:
        return None
    return statistics.fmean(near) / statistics.fmean(far)
