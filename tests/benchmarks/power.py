"""What does the rule of verdicts say of a loss that is planted, in studies of cells in turn?

Two threads, all of which need more CPU time for an operation: 5 % of the throughput is lost,
exactly the margin of 2 %, or nothing. The cells and one without a loss are alive together, and each
block has a ratio of each. Blocks that follow each other are a study of 8 or of 20: 20 blocks a pair
are 25 studies of 8 and 10 of 20, which is what takes the time. The deviation of a block stands
beside: it says how noisy the machine was, and so does what the rule says of as many studies of
blocks that scatter as these do, in a normal distribution around the ratio that was planted.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.verdict import Word, hypothesis, judge
from scaling.analysis.table.ticks import throughputs
from scaling.run.alternation import in_turn
from tests.benchmarks.alternation import measured_in_turn, record_of
from tests.benchmarks.figure import Effort, Figure

MARGIN = 0.02
PLANTED: Mapping[str, float] = {  # CPU time of an operation, over that without a loss
    "5 % lost": 1 / 0.95,
    "2 % lost, as the margin": 1 + MARGIN,
    "nothing lost": 1.0,
}
WORDS: Sequence[Word] = ("faster", "slower", "same")
WORKLOAD = "tests.workloads.planted:Needs"
BLOCKS_A_PAIR = 20
MORE_GROUPS = 2
SIMULATED = 1_000
SEED = 1


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """How many of the studies have the word that they should have, or should not."""
    del free_threaded
    blocks = effort.pairs * BLOCKS_A_PAIR
    several = np.array([_block(effort.window_s) for _ in range(blocks)])
    lost, at_margin, same = several.T
    for name, found in zip(PLANTED, several.T, strict=True):
        deviation = np.log(found).std(ddof=1)
        detail = f"SD of a block {deviation:.1%}"
        yield Figure(f"power: ratio, {name}", found.tolist(), "at least", None, detail=detail)
    planted = [1 / factor for factor in PLANTED.values()]
    yield _figure("slower, 8 blocks", lost, planted[0], 8, ["slower"], "at least", 0.9)
    yield _figure("a word at the margin", at_margin, planted[1], 8, WORDS, "at most", 0.05)
    yield _figure("same, 20 blocks", same, planted[2], 20, ["same"], "at least", 0.8)


def _figure(
    name: str,
    ratios: Floats,
    planted: float,
    blocks: int,
    words: Sequence[Word],
    bound: Literal["at least", "at most"],
    target: float,
) -> Figure:
    """In which share of studies the verdict is one of these words."""
    studies = [np.array(each) for each in itertools.batched(ratios, blocks)]
    whole = [each for each in studies if len(each) == blocks]
    said = [_word(each) for each in whole]
    scatter = np.log(ratios).std(ddof=1)
    source = np.random.default_rng(SEED)
    drawn = planted * np.exp(source.normal(0.0, scatter, (SIMULATED, blocks)))
    expected = sum(_word(each) in words for each in drawn) / SIMULATED
    counts = ", ".join(f"{each} {said.count(each)}" for each in dict.fromkeys(said))
    detail = f"{len(whole)} studies: {counts}; {expected:.2f} is expected with SD {scatter:.1%}"
    share = sum(word in words for word in said) / len(whole)
    return Figure(f"power: {name}", [share], bound, target, detail=detail)


def _word(ratios: Floats) -> Word:
    return judge([hypothesis(ratios, MARGIN)])[0].verdict.word


def _block(window_s: float) -> list[float]:
    """The ratio of each planted cell to one without a loss, all four alive together."""
    factors = [1.0, *PLANTED.values()]
    cells = [{"workload": WORKLOAD, "parameters": {"factor": each}} for each in factors]
    jobs = [partial(measured_in_turn, {**each, "loop": "asyncio"}, window_s) for each in cells]
    endings, _ = in_turn(jobs, window_s, random.Random())
    for _ in range(MORE_GROUPS):  # as a study measures a group again of which a run failed
        if all(each.outcome == "measured" for each in endings):
            break
        endings, _ = in_turn(jobs, window_s, random.Random())
    plain, *others = throughputs([record_of(each) for each in endings]).tolist()
    return [each / plain for each in others]
