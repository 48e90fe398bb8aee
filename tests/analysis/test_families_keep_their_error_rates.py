"""Primary verdicts are wrong in at most 5 % of studies, exploratory ones in at most 5 % of them.

The full table is printed by `python -m tests.benchmarks families`.
"""

import math

import pytest

from tests.support.families import simulate

pytestmark = pytest.mark.slow

SEED = 20261122
STUDIES = 150
ALLOWED = 0.05 + 3 * math.sqrt(0.05 * 0.95 / STUDIES)  # three standard errors above 5 %


@pytest.mark.parametrize("true", [0.0, 0.3])
def test_each_family_keeps_its_error_rate(true: float) -> None:
    rates = simulate(STUDIES, SEED, true=true)
    assert rates.familywise <= ALLOWED
    assert rates.false_discovery <= ALLOWED


def test_two_families_find_more_than_one() -> None:
    two, one = (simulate(60, SEED, one_family=each) for each in (False, True))
    assert two.primary_power > one.primary_power + 0.05
    assert two.exploratory_power > one.exploratory_power + 0.1
