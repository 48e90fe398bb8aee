"""What is printed when a block is done: the time left and the expected precision."""

import math

from scaling.analysis.statistics.precision_forecast import expected_half_width
from scaling.run.time_left import Left
from scaling.study.presets import DEFAULT_PRESET, FEWEST_FOR_INTERVAL, PRESETS


def block_in_words(done: int, planned: int, left: Left, scatter: float) -> str:
    """`block 1 of 8 done · 9 min 20 s left · 8 blocks: ratios to about ±2.1 %`.

    A study too short for intervals gets the precision of the default preset. `scatter` is that of
    the A/A pairs; NaN where there are none.
    """
    parts = [f"block {done} of {planned} done", str(left)]
    blocks = planned if planned >= FEWEST_FOR_INTERVAL else PRESETS[DEFAULT_PRESET].blocks
    width = expected_half_width(scatter, blocks)
    if math.isfinite(width):
        parts.append(f"{blocks} blocks: ratios to about ±{100 * width:.2g} %")
    return " · ".join(parts)
