"""Topology is what `/proc` and `/sys` say, under whatever root they are found.

Worker counts cover its regions, and a quota ends a region as a core does.
"""

import math
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.topology import (
    Topology,
    cpu_folders,
    cpu_quota,
    memory_limit_bytes,
    parse_cpus,
    read_topology,
    worker_counts,
)
from tests.support.machines import Written, every_count, tree

MOUNT_V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"


def test_a_machine_with_siblings_nodes_and_a_name(tmp_path: Path) -> None:
    written = Written(("0,4", "1,5", "2,6", "3,7"), nodes=("0-1,4-5", "2-3,6-7", "\n"))
    model = "processor\t: 0\nmodel name\t: Some Processor @ 3 GHz\nflags\t: fpu\n"
    root = tree(tmp_path, written.files | {"proc/cpuinfo": model})
    read = read_topology(root, affinity={0, 1, 4})
    assert read.cores == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert (read.physical_cores, read.logical_cpus) == (4, 8)
    assert read.numa_nodes == ((0, 1, 4, 5), (2, 3, 6, 7))
    assert read.cpu_model == "Some Processor @ 3 GHz"
    assert read.affinity == (0, 1, 4)
    assert (read.usable_cores, read.usable_logical, read.cpu_quota) == (2, 3, None)


def test_what_cannot_be_read_is_blank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = read_topology()
    assert here.usable_cpus >= 1
    assert here.logical_cpus == (psutil.cpu_count() or 1)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 12 if logical else None)
    read = read_topology(tmp_path, affinity=range(12))
    assert (read.logical_cpus, read.physical_cores, read.cores) == (12, None, ())
    assert (read.numa_nodes, read.efficiency_cpus, read.cpu_quota) == ((), (), None)
    assert read.cpu_model is None
    lists = {"0-3,8": (0, 1, 2, 3, 8), "5": (5,), "\n": (), "all": (), "1-x": ()}
    assert {text: parse_cpus(text) for text in lists} == lists


@pytest.mark.parametrize(
    ("files", "quota", "limit_bytes"),
    [
        ({}, None, math.inf),
        (
            {"user/cpu.max": "150000 100000\n", "user/study/cpu.max": "400000 100000\n"},
            1.5,
            math.inf,
        ),
        ({"cpu.max": "max 100000\n", "user/memory.max": "3000\n"}, None, 3000),
        ({"user/memory.max": "3000\n", "user/study/memory.max": "max\n"}, None, 3000),
        ({"user/memory.max": "3000\n", "user/study/memory.max": "2000\n"}, None, 2000),
        (
            {"cpu.max": "rubbish\n", "memory.max": "rubbish\n", "else/memory.max": "1\n"},
            None,
            math.inf,
        ),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None, math.inf),
    ],
)
def test_the_least_limit_on_the_way_up_counts(
    files: dict[str, str], quota: float | None, limit_bytes: float, tmp_path: Path
) -> None:
    group = tmp_path / "sys/fs/cgroup"
    here = {"proc/self/cgroup": "0::/user/study\n", "proc/self/mountinfo": MOUNT_V2}
    groups = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    groups["sys/fs/cgroup/user/study/cgroup.controllers"] = "cpu memory\n"
    root = tree(tmp_path, here | groups)
    assert (cpu_quota(root), memory_limit_bytes(root)) == (quota, limit_bytes)
    assert cpu_folders(root)[0] == group / "user/study"


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
        (machine(64, 2, quota=3.5), (1, 2, 3, 6)),
        (machine(4, 2, affinity=6), (1, 2, 4, 6, 12)),
        (machine(4, quota=0.5), (1, 2)),
        (Topology(logical_cpus=12), (1, 2, 4, 8, 12, 24)),
    ],
)
def test_the_worker_counts_of_a_machine(topology: Topology, counts: tuple[int, ...]) -> None:
    assert every_count(topology) == counts


def test_words_stand_for_numbers_of_workers() -> None:
    words = {"1..cores": (1, 2, 4, 6), "cores": (6,), "cpus": (12,), "2x-cpus": (24,)}
    assert worker_counts(machine(6, 2)) == words


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
    counts = every_count(topology)
    assert counts[0] == 1
    assert list(counts) == sorted(set(counts))
    assert topology.region(counts[-1]) == "oversubscribed"
    order = ["cores", "smt", "oversubscribed"]
    regions = [order.index(topology.region(count)) for count in counts]
    assert regions == sorted(regions)
