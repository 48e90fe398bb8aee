"""The rule of `--precision`: after every block, are the headline ratios known well enough?

It is fixed before the first run (the study line has it) and looks at nothing but widths.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from scaling.analysis.statistics.estimate import Estimate
from scaling.base.formats import percent, plural
from scaling.journal.record import RunLine


class Standing(NamedTuple):
    """Whether a study has enough blocks, and what there is to say of it."""

    enough: bool
    text: str


type Rule = Callable[[Collection[RunLine], int], Standing]  # from the runs, and how many blocks
type Ratios = Callable[[Collection[RunLine]], Mapping[str, Estimate]]


def precision_rule(precision: float, max_blocks: int, ratios: Ratios) -> Rule:
    """The rule that asks for every one of `ratios` to be known to ± `precision` of itself.

    `max_blocks` are enough, whatever the widths; so is any number where there is no ratio at all.
    """
    known = f"± {percent(precision)}"

    def standing(runs: Collection[RunLine], blocks: int) -> Standing:
        widths = {name: ratio.relative_half_width for name, ratio in ratios(runs).items()}
        wide = [name for name, width in widths.items() if width > precision]
        done = plural(blocks, "block")
        if not widths:
            return Standing(True, f"{done}: no ratio whose precision could be asked for")
        if not wide:
            headlines = plural(len(widths), "headline ratio")
            return Standing(True, f"{done}: {headlines} known to {known}, as asked for")
        widest = max(wide, key=lambda name: widths[name])
        half = widths[widest]
        reached = "no interval yet" if math.isinf(half) else f"± {percent(half)}"
        several = f"{len(wide)} of {plural(len(widths), 'ratio')}"
        if blocks >= max_blocks:
            not_known = f"{several} not known to {known}. Widest, {reached}: {widest}"
            return Standing(True, f"{done}, as many as there may be: {not_known}")
        return Standing(
            False, f"{done}, one more: {several} not known to {known} (widest: {reached})"
        )

    return standing
