"""A verdict is wrong no more often than it says, and found where it is due: simulated."""

import math

import numpy as np
import pytest

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.hypotheses import splits
from scaling.analysis.statistics.verdict import hypothesis, judge
from tests.support.noise import AFTER, Noise, compare_cells, simulated
from tests.support.verdicts import verdicts

SEED = 20261120
MARGIN = 0.02
TABLES, ROWS, BLOCKS = 150, 8, 8


def allowed(studies: int, rate: float = 0.05) -> float:
    """What chance can make of a rate in so many studies: three standard errors more."""
    return rate + 3 * math.sqrt(rate * (1 - rate) / studies)


def drawn(rng: np.random.Generator, shape: str, size: tuple[int, ...]) -> Floats:
    """Noise of one cell, about 1 wide: the last axis is the blocks, in the order of time."""
    match shape:
        case "Laplace":
            return rng.laplace(0, math.sqrt(0.5), size)
        case "t2":
            return rng.standard_t(2, size) / 2
        case "lognormal":
            return np.exp(rng.normal(0, 1, size)) / 2
        case "exponential":
            return rng.exponential(1, size)
        case "uniform":
            return rng.uniform(-math.sqrt(3), math.sqrt(3), size)
        case "drift":
            return rng.normal(0, 1, size) + np.linspace(0, 3, size[-1])
    return rng.normal(0, 1, size)


def tables(true: float, spread: float, shape: str = "normal") -> list[list[Floats]]:
    """Simulated tables of ratios of two cells, all of the same true ratio."""
    rng = np.random.default_rng([SEED, *shape.encode()])
    size = (TABLES, ROWS, BLOCKS)
    if shape == "unequal":  # the one cell is eight times as noisy as the other
        noise = spread * (drawn(rng, "normal", size) - drawn(rng, "normal", size) / 8)
    elif shape == "drift":  # the machine's: both cells have it, and one is measured a little later
        slope = spread * np.linspace(0, 3, BLOCKS)
        late = slope[1] / ROWS * rng.choice((-1, 1), size)
        noise = late + spread * drawn(rng, "normal", size)
    elif shape == "machine":  # neighbours correlate by 0.35, as in the published journals
        return [paired_runs(seed) for seed in range(TABLES)]
    else:
        one, other = (drawn(rng, shape, size) for _ in range(2))
        noise = spread / math.sqrt(2) * (one - other)
    return [list(rows) for rows in true * np.exp(noise)]


def paired_runs(seed: int) -> list[Floats]:
    """Ratios of equal cells, in the order and with the noise of a study: threads over processes."""
    runs = simulated(compare_cells(), BLOCKS, AFTER, Noise(), seed)
    log: dict[tuple[object, ...], float] = {
        (run.cell.arm, run.cell.workers, run.cell.model, run.block): value / 100
        for run, value in runs
        if not run.cell.twin
    }
    pairs = list(dict.fromkeys(key[:2] for key in log))[:ROWS]
    return [
        np.exp([log[*pair, "threads", at] - log[*pair, "processes", at] for at in range(BLOCKS)])
        for pair in pairs
    ]


def words(table: list[Floats], margin: float) -> set[str]:
    return {each.word for each in verdicts(table, [margin] * len(table))}


@pytest.mark.parametrize(
    "shape", ["normal", "Laplace", "t2", "lognormal", "unequal", "drift", "machine"]
)
def test_equal_cells_are_called_different_in_no_more_than_5_of_100_tables(shape: str) -> None:
    """Without a margin, so that chance has all the room there is: what differs by more than a
    margin also differs from 1.
    """
    wrong = [words(each, 0.0) & {"faster", "slower"} for each in tables(1, 0.03, shape)]
    assert sum(map(bool, wrong)) / TABLES <= allowed(TABLES)


@pytest.mark.parametrize(("true", "word"), [(1 + MARGIN, "faster"), (1 / (1 + MARGIN), "slower")])
def test_what_lies_on_the_margin_is_on_neither_side_of_it(true: float, word: str) -> None:
    """The nearest to a difference that is none, and the nearest to the same that is not."""
    found = [words(each, MARGIN) for each in tables(true, 0.005)]
    assert sum(word in each for each in found) / TABLES <= allowed(TABLES)
    assert sum("same" in each for each in found) / TABLES <= allowed(TABLES)


@pytest.mark.parametrize(
    ("true", "spread", "blocks", "word", "least", "most"),
    [
        (0.95, 0.02, 8, "slower", 0.75, 0.97),
        (0.97, 0.02, 8, "slower", 0.1, 0.35),
        (1.0, 0.02, 20, "same", 0.8, 0.97),
        (0.9, 0.04, 20, "slower", 0.99, 1.0),
    ],
)
def test_what_is_found_and_how_often(
    true: float, spread: float, blocks: int, word: str, least: float, most: float
) -> None:
    """Power of one hypothesis by itself, with normal noise of that spread."""
    rng = np.random.default_rng([SEED, blocks])
    every = [true * np.exp(rng.normal(0, spread, blocks)) for _ in range(400)]
    found: list[str] = [judge([hypothesis(each, MARGIN)])[0].verdict.word for each in every]
    assert len(found) - found.count(word) - found.count("inconclusive") <= 0.01 * len(found)
    assert least <= found.count(word) / len(found) <= most


@pytest.mark.slow
def test_each_family_keeps_its_error_rate() -> None:
    """Where nothing differs, and no margin keeps chance from a verdict."""
    rng, primary, exploratory = np.random.default_rng(SEED), 0, 0
    for _ in range(100):
        ratios = np.exp(rng.normal(0, 0.04, (69, BLOCKS)))
        made = [hypothesis(each, 0.0, family="primary") for each in ratios[:9]]
        made += [hypothesis(each, 0.0, family="exploratory") for each in ratios[9:]]
        sides = [each.verdict.side for each in judge(made)]
        primary += any(sides[:9])
        exploratory += any(sides[9:])  # where nothing differs, each is a false discovery
    assert max(primary, exploratory) <= 100 * allowed(100)


UNIMODAL = ["normal", "Laplace", "t2", "lognormal", "exponential", "uniform", "drift"]


@pytest.mark.parametrize("shape", UNIMODAL)
def test_one_group_is_taken_for_two_in_one_of_a_hundred_studies(shape: str) -> None:
    """Each number of blocks has a threshold of its own."""
    studies = 3_000
    for blocks in (*range(6, 21), 40):
        rng = np.random.default_rng([SEED, blocks, *shape.encode()])
        alarms = splits(drawn(rng, shape, (studies, blocks)), 0.0).any(axis=-1).sum()
        assert alarms / studies <= allowed(studies, 0.01), blocks


@pytest.mark.parametrize(("blocks", "found"), [(8, 0.35), (12, 0.8), (20, 0.95)])
def test_processes_in_two_states_have_no_verdict(blocks: int, found: float) -> None:
    """Whichever word such a ratio had would be wrong half of the time."""
    rng = np.random.default_rng([SEED, blocks])
    size = (400, blocks)  # a cell in either of two states, 10 deviations apart, over one without
    every = np.exp(rng.normal(0, 0.01, size) - 0.1 * (rng.random(size) < 0.5))
    verdicts = [judge([hypothesis(each, MARGIN)])[0].verdict for each in every]
    assert sum(each.reason == "two states" for each in verdicts) / len(verdicts) >= found
    assert sum(each.is_decided for each in verdicts) / len(verdicts) <= 0.05 + 3 * 0.011
