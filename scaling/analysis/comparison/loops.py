"""Loops compared: each other loop over asyncio, and each other runtime over Python.

    uvloop over asyncio, trio over asyncio;  go over 3.14t on asyncio

A loop is compared with asyncio at the same arm, model and N. A runtime other than Python
(`scaling.builds.runtimes`) has a loop of its own; its threads are compared with the same number of
threads, on asyncio, of the first Python that the study names. The two differ in everything, which
must be shown beside the ratio. Its processes are what the machine gives without an interpreter:
they are shown, and compared with nothing but one of them.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.contrast import Contrast, contrasts
from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.statistics.pending import Pending
from scaling.builds.runtimes.known import RUNTIMES

BASE = "asyncio"
MODEL = "threads"  # what a runtime's workers are called, too


def together(parts: Sequence[Paired]) -> Paired:
    """The runs of one section on all its loops, in the same blocks.

    Every configuration names its loop.
    """
    blocks = np.unique(np.concatenate([part.blocks for part in parts]))

    def table(measure: Measure) -> Floats:
        grids = [np.full((len(blocks), len(part.columns)), np.nan) for part in parts]
        for part, grid in zip(parts, grids, strict=True):
            grid[np.searchsorted(blocks, part.blocks)] = part.values[measure]
        return np.hstack(grids)

    first = parts[0]
    configurations = (
        Configuration(w.arm, w.model, w.workers, part.loop) for part in parts for w in part.columns
    )
    return Paired(
        first.section,
        "",
        [curve for part in parts for curve in part.curves],
        {configuration: place for place, configuration in enumerate(configurations)},
        {measure: table(measure) for measure in first.values},
        blocks,
        first.floor,
        first.primary,
    )


def loops(runs: Paired) -> Pending[list[Contrast]]:
    """Each other loop over asyncio; `runs` are those of all loops, as `together` makes them."""
    return contrasts(runs, "loop", _loop_pairs(runs))


def runtimes(runs: Paired) -> Pending[list[Contrast]]:
    """Each other runtime over Python, of the runs of all loops."""
    return contrasts(runs, "runtime", _runtime_pairs(runs))


def _loop_pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    others = [curve.key for curve in runs.curves if curve.key.loop != BASE]
    for key, n in product(others, runs.workers):
        yield (
            Configuration(key.arm, key.model, n, key.loop),
            Configuration(key.arm, key.model, n, BASE),
        )


def _runtime_pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    keys = (curve.key for curve in runs.curves)
    others = [key for key in keys if key.arm in RUNTIMES and key.model == MODEL]
    for python in islice(_pythons(runs), 1):
        for key, n in product(others, runs.workers):
            yield (
                Configuration(key.arm, key.model, n, key.loop),
                Configuration(python, MODEL, n, BASE),
            )


def _pythons(runs: Paired) -> Iterator[str]:
    """The Pythons that were measured in threads on asyncio, in the study's order.

    All curves are in order by loop first, and another loop may have been run on a later arm alone.
    """
    for arm in dict.fromkeys(curve.key.arm for curve in runs.curves if curve.key.loop == BASE):
        configurations = runs.measured(Configuration(arm, MODEL, n, BASE) for n in runs.workers)
        if configurations and arm not in RUNTIMES:
            yield arm
