"""What does the rule of verdicts say of a loss that is planted, in studies of cells in turn?

Two threads, all of which need more CPU time for an operation: 5 % of the throughput is lost,
exactly the margin of 2 %, or nothing. The cells and one without a loss are alive together, and each
block has a ratio of each. Studies of 8 and of 20 blocks are drawn from these blocks, with
replacement: so many real ones would take days. What is wrong with all blocks alike is in every
study then, so the deviation of a block, which says how noisy the machine was, stands beside.
"""

import random
from collections.abc import Iterator, Mapping
from functools import partial

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
WORKLOAD = "tests.workloads.planted:Needs"
BLOCKS_A_PAIR = 6
STUDIES = 1_000
SEED = 1


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """How many of the studies have the word that they should have, or should not."""
    del free_threaded
    blocks = effort.pairs * BLOCKS_A_PAIR
    several = np.array([_block(effort.window_s) for _ in range(blocks)])
    ratios = dict(zip(PLANTED, several.T, strict=True))
    for name, found in ratios.items():
        deviation = np.log(found).std(ddof=1)
        detail = f"SD of a block {deviation:.1%}"
        yield Figure(f"power: ratio, {name}", found.tolist(), "at least", None, detail=detail)
    lost, at_margin, same = (ratios[name] for name in PLANTED)
    yield Figure("power: slower, 8 blocks", [_share(lost, 8, "slower")], "at least", 0.9)
    wrong = [_share(at_margin, 8, "slower"), _share(at_margin, 8, "same")]
    detail = f"slower {wrong[0]:.3f}, same {wrong[1]:.3f}"
    yield Figure("power: a word at the margin", [sum(wrong)], "at most", 0.05, detail=detail)
    yield Figure("power: same, 20 blocks", [_share(same, 20, "same")], "at least", 0.8)


def _block(window_s: float) -> list[float]:
    """The ratio of each planted cell to one without a loss, all four alive together."""
    factors = [1.0, *PLANTED.values()]
    cells = [{"workload": WORKLOAD, "parameters": {"factor": each}} for each in factors]
    jobs = [partial(measured_in_turn, {**each, "loop": "asyncio"}, window_s) for each in cells]
    endings, _ = in_turn(jobs, window_s, random.Random())
    plain, *others = throughputs([record_of(each) for each in endings]).tolist()
    return [each / plain for each in others]


def _share(ratios: Floats, blocks: int, word: Word) -> float:
    """In which share of studies of so many blocks the verdict has this word."""
    source = np.random.default_rng(SEED)
    studies = source.choice(ratios, (STUDIES, blocks))
    found = [judge([hypothesis(each, MARGIN)])[0].verdict.word for each in studies]
    return found.count(word) / STUDIES
