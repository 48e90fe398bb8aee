"""Requests are due by one schedule, however many processes send them."""

import statistics
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.services.load.arrivals import KINDS, arrivals, share

SEEDS = st.integers(0, 2**32)


@given(st.sampled_from(KINDS), SEEDS, st.integers(1, 5))
def test_parts_together_are_the_whole_schedule(kind: str, seed: int, processes: int) -> None:
    whole = list(islice(arrivals(kind, 1_000, seed), 300))
    parts = []
    for place in range(processes):
        for due in share(arrivals(kind, 1_000, seed), kind, seed, place, processes):
            if due > whole[-1]:
                break
            parts.append(due)
    assert sorted(parts) == whole


def test_constant_gaps_add_up_without_drift() -> None:
    due = list(islice(arrivals("constant", 3, 1), 3_000_001))
    assert due[:4] == [0, 333_333_333, 666_666_666, 1_000_000_000]
    assert due[-1] == 1_000_000 * 10**9


@pytest.mark.parametrize("processes", [1, 4])
def test_poisson_gaps_are_exponential_in_each_part(processes: int) -> None:
    """Mean and standard deviation of exponential gaps are equal; 3σ bounds on 40,000 gaps."""
    part = share(arrivals("poisson", 1_000, 7), "poisson", 7, 0, processes)
    gaps = [late - early for early, late in pairwise(islice(part, 40_001))]
    mean_ns = processes * 1e6
    assert statistics.fmean(gaps) == pytest.approx(mean_ns, rel=3 / 200)
    assert statistics.pstdev(gaps) == pytest.approx(mean_ns, rel=6 / 200)


@given(SEEDS)
def test_a_seed_gives_the_same_schedule_again(seed: int) -> None:
    one, again, other = (
        list(islice(arrivals("poisson", 50, each), 20)) for each in (seed, seed, seed + 1)
    )
    assert one == again != other
    assert one == sorted(one)
