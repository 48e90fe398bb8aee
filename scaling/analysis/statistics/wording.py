"""A verdict in words: the same in every output.

    slower, by 9 to 14 %
    faster, 10.3 to 11.8 times
    same, within ±2 %
    inconclusive, too few blocks: leaning slower, 0.837; 2 of 6 blocks
    inconclusive, too noisy: between 6 % slower and 1 % faster; about 30 blocks would decide
    inconclusive, at the margin: 1 to 4 % slower, about the smallest difference that counts

What stands after the word and its comma is `why`. Of a latency `faster` is below 1, and the share
is that by which it is lower.
"""

import math
from typing import Literal

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.two_states import TwoStates
from scaling.base.formats import number, percent
from scaling.study.presets import FEWEST_FOR_INTERVAL

type Reason = Literal[
    "no value",
    "not above 0",
    "too few blocks",
    "too noisy",
    "at the margin",
    "two states",
    "A/A pair differs",
    "bound",
    "void",
]

TIMES = 2.0  # from this factor on a ratio is said in times, below it in per cent
ALMOST_ONE = 0.95  # per cent: rounded to one
MOST_BLOCKS = 1_000  # beyond, nobody waits for a verdict


def amount(value: Estimate) -> str:
    """By how much a ratio differs from 1: `by 9 to 14 %`, `10.3 to 11.8 times`."""
    if value.point >= TIMES:
        return f"{_ends(number(value.low), number(value.high))} times"
    return f"by {_share_ends(value)}"


def within(margin: float) -> str:
    """Where what is the same lies."""
    return f"within ±{percent(margin)}"


def few(value: Estimate, margin: float, words: tuple[str, str]) -> str:
    """What so few blocks say."""
    side = _side(value.point, margin, words)
    leaning = f"leaning {side}" if side else "no difference so far"
    return f"{leaning}, {number(value.point)}; {value.n} of {FEWEST_FOR_INTERVAL} blocks"


def noisy(value: Estimate, words: tuple[str, str], blocks: float, corrected: str = "") -> str:
    """Where the ratio may be, and how many blocks would decide it; `corrected` says what failed."""
    found = f"between {_end(value.low, words)} and {_end(value.high, words)}"
    if value.low >= 1 or value.high <= 1:
        found = f"{_share_ends(value)} {words[value.low >= 1]}"
        if value.low >= TIMES:
            found = f"{_ends(number(value.low), number(value.high))} times {words[1]}"
    return f"{found}{f', {corrected}' if corrected else ''}; {_blocks(blocks)}"


def at_the_margin(value: Estimate, words: tuple[str, str]) -> str:
    """What is known of a ratio that is as large as the margin."""
    return (
        f"{_share_ends(value)} {words[value.point > 1]}, about the smallest difference that counts"
    )


def in_two_states(found: TwoStates) -> str:
    """How often which came up: ratios, or the figures of the runs of one of two studies."""
    low, high = (number(math.exp(each)) for each in (found.low, found.high))
    return f"{found.of_low} values near {low}, {found.of_high} near {high}"


def _side(ratio: float, margin: float, words: tuple[str, str]) -> str:
    if ratio > 1 + margin:
        return words[1]
    return words[0] if ratio < 1 / (1 + margin) else ""


def _end(bound: float, words: tuple[str, str]) -> str:
    share = _share(bound)
    return f"{share} % {words[bound >= 1]}" if share != "0" else "equal"


def _share_ends(value: Estimate) -> str:
    """`9 to 14 %`: the smaller first."""
    ends = sorted((value.low, value.high), key=lambda bound: abs(bound - 1))
    return f"{_ends(*map(_share, ends))} %"


def _share(bound: float) -> str:
    """By how many per cent it is from 1; below one of them with a decimal."""
    share = 100 * abs(bound - 1)
    return f"{share:,.{0 if share >= ALMOST_ONE else 1}f}".replace("0.0", "0")


def _ends(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _blocks(blocks: float) -> str:
    if blocks > MOST_BLOCKS:
        return f"more than {MOST_BLOCKS:,} blocks would decide"
    return f"about {blocks:,.0f} blocks would decide"
