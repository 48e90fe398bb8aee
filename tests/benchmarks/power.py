"""What do words say of a loss that is planted, in studies of cells in turn?

Two threads, all of which need more CPU time for an operation: 5 % of the throughput is lost,
exactly the margin of 2 %, or nothing. The cells and one without a loss are alive together, and each
block has a ratio of each. Blocks that follow each other are a study of 8 or of 20: 20 blocks a pair
are 25 studies of 8 and 10 of 20, which is what takes the time. What is said of as many blocks
that scatter as these do, in a normal distribution around what was planted, stands beside.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.ticks import throughputs
from tests.benchmarks.alternation import records
from tests.benchmarks.figure import Effort, Figure
from tests.support.words import worded

MARGIN = 0.02
WORKLOAD = "tests.workloads.planted:Needs"
FACTORS = (1.0, 1 / 0.95, 1 + MARGIN, 1.0)  # CPU time of an operation, the first without a loss
BLOCKS_A_PAIR = 20
SIMULATED = 1_000
SEED = 1


def figures(effort: Effort) -> Iterator[Figure]:
    """How many of the studies have the word that they should have, or should not."""
    blocks = np.array([_block(effort.window_s) for _ in range(effort.pairs * BLOCKS_A_PAIR)])
    lost, at_margin, same = blocks.T
    for name, found in {"5 % lost": lost, "2 % lost": at_margin, "nothing lost": same}.items():
        detail = f"SD of a block {np.log(found).std(ddof=1):.1%}"
        yield Figure(f"power: ratio, {name}", found.tolist(), detail=detail)
    share, detail = _said(lost, 1 / FACTORS[1], 8, ["slower"])
    yield Figure("power: slower, 8 blocks", [share], at_least=0.9, detail=detail)
    share, detail = _said(at_margin, 1 / FACTORS[2], 8, ["faster", "slower", "same"])
    yield Figure("power: a word at the margin", [share], at_most=0.05, detail=detail)
    share, detail = _said(same, 1.0, 20, ["same"])
    yield Figure("power: same, 20 blocks", [share], at_least=0.8, detail=detail)


def _said(ratios: Floats, planted: float, blocks: int, words: Sequence[str]) -> tuple[float, str]:
    """The share of studies of so many blocks whose word is one of these, and details."""
    several = [each for each in itertools.batched(ratios, blocks) if len(each) == blocks]
    said = _words(np.array(several).T)
    scatter = np.log(ratios).std(ddof=1)
    drawn = np.random.default_rng(SEED).normal(0.0, scatter, (blocks, SIMULATED))
    expected = sum(each in words for each in _words(planted * np.exp(drawn))) / SIMULATED
    counts = ", ".join(f"{each} {said.count(each)}" for each in dict.fromkeys(said))
    detail = f"{len(said)} studies: {counts}; {expected:.2f} is expected with SD {scatter:.1%}"
    return sum(word in words for word in said) / len(said), detail


def _words(ratios: Floats) -> list[str]:
    """The word of each study, of ratios of shape (blocks, studies)."""
    return worded(ratios)["word"].tolist()


def _block(window_s: float) -> list[float]:
    """The ratio of each planted cell to the one without a loss, all four alive together."""
    cells = [
        {"workload": WORKLOAD, "loop": "asyncio", "parameters": {"factor": each}}
        for each in FACTORS
    ]
    plain, *others = throughputs(records(cells, window_s, in_turns=True)).tolist()
    return [each / plain for each in others]
