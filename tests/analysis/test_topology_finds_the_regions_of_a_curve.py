"""Worker counts cover the regions of a machine, and a quota ends a region as a core does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.topology import Topology, default_worker_counts, worker_counts


def machine(
    cores: int, threads: int = 1, *, affinity: int | None = None, quota: float | None = None
) -> Topology:
    """A machine of `cores` with `threads` siblings each, numbered as Linux does on x86."""
    logical = cores * threads
    return Topology(
        logical_cpus=logical,
        physical_cores=cores,
        cores=tuple(tuple(range(core, logical, cores)) for core in range(cores)),
        affinity=tuple(range(logical if affinity is None else affinity)),
        cpu_quota=quota,
    )


@pytest.mark.parametrize(
    ("topology", "counts"),
    [
        (machine(1), (1, 2)),
        (machine(2), (1, 2, 4)),
        (machine(4, 2), (1, 2, 4, 8, 16)),
        (machine(6, 2), (1, 2, 4, 6, 12, 24)),
        (machine(64, 2, quota=3.5), (1, 2, 3, 6)),
        (machine(4, 2, affinity=6), (1, 2, 4, 6, 12)),
        (machine(4, quota=0.5), (1, 2)),
        (Topology(logical_cpus=12), (1, 2, 4, 8, 12, 24)),
    ],
)
def test_the_worker_counts_of_a_machine(topology: Topology, counts: tuple[int, ...]) -> None:
    assert default_worker_counts(topology) == counts


def test_words_stand_for_numbers_of_workers() -> None:
    assert worker_counts(machine(6, 2)) == {
        "1..cores": (1, 2, 4, 6),
        "cores": (6,),
        "cpus": (12,),
        "2x-cpus": (24,),
    }


@pytest.mark.parametrize(
    ("topology", "regions"),
    [
        (machine(2), {1: "cores", 2: "cores", 3: "oversubscribed"}),
        (machine(4, 2), {4: "cores", 5: "smt", 8: "smt", 9: "oversubscribed"}),
        # Four CPUs, of two cores' siblings: more than two workers share a core.
        (
            Topology(
                logical_cpus=8,
                physical_cores=4,
                cores=((0, 4), (1, 5), (2, 6), (3, 7)),
                affinity=(0, 1, 4, 5),
            ),
            {2: "cores", 3: "smt", 4: "smt", 5: "oversubscribed"},
        ),
        (machine(8, 2, quota=3.5), {3: "cores", 4: "oversubscribed"}),
        (machine(2, quota=0.5), {1: "oversubscribed"}),
    ],
)
def test_the_region_of_a_worker_count(topology: Topology, regions: dict[int, str]) -> None:
    assert {workers: topology.region(workers) for workers in regions} == regions


@given(
    st.integers(1, 128),
    st.sampled_from([1, 2, 4]),
    st.none() | st.floats(0.1, 600),
    st.floats(0.01, 1),
)
def test_any_machine_has_sorted_counts_that_end_oversubscribed(
    cores: int, threads: int, quota: float | None, share: float
) -> None:
    topology = machine(cores, threads, affinity=max(1, int(cores * threads * share)), quota=quota)
    counts = default_worker_counts(topology)
    assert counts[0] == 1
    assert list(counts) == sorted(set(counts))
    assert topology.region(counts[-1]) == "oversubscribed"
    order = ["cores", "smt", "oversubscribed"]
    regions = [order.index(topology.region(count)) for count in counts]
    assert regions == sorted(regions)
