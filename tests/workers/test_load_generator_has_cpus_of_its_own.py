"""A load generator has CPUs that no worker has, where there are enough; what is, is read back."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.journal.record import Load
from scaling.machine.pinning import apart, cpu_order, cpus_of, pinning
from scaling.machine.topology import Topology
from tests.support.serving import served

# Two nodes with two cores of two siblings each; the system's numbering of siblings is far apart.
CORES = ((0, 4), (1, 5), (2, 6), (3, 7))
NODES = ((0, 2, 4, 6), (1, 3, 5, 7))


def topology(affinity: Any = range(8), cpu_quota: float | None = None) -> Topology:
    return Topology(
        logical_cpus=8,
        physical_cores=4,
        cores=CORES,
        numa_nodes=NODES,
        affinity=None if affinity is None else tuple(affinity),
        cpu_quota=cpu_quota,
    )


def test_the_generator_has_the_last_core_with_its_siblings() -> None:
    assert apart(topology(), workers=1, generators=1) == ([0, 1, 2, 4, 5, 6], [3, 7])
    assert apart(topology(), workers=2, generators=2) == ([0, 2, 4, 6], [1, 3, 5, 7])


def test_with_too_few_cores_it_has_the_last_cpu() -> None:
    assert apart(topology(), workers=4, generators=1) == ([0, 1, 2, 3, 4, 5, 6], [7])


def test_on_two_cores_one_worker_has_one_of_its_own_and_two_share() -> None:
    two = Topology(logical_cpus=2, physical_cores=2, cores=((0,), (1,)), affinity=(0, 1))
    assert apart(two, workers=1, generators=1) == ([0], [1])
    assert apart(two, workers=2, generators=1) is None


@pytest.mark.parametrize(
    "where", [topology(cpu_quota=1.5), topology(affinity=[3]), topology(affinity=None)], ids=str
)
def test_where_there_are_not_enough_all_share(where: Topology) -> None:
    assert apart(where, workers=1, generators=1) is None


@given(st.integers(1, 9), st.integers(1, 4), st.sets(st.integers(0, 7), min_size=1))
def test_no_worker_is_pinned_to_a_cpu_of_the_generator(
    workers: int, generators: int, affinity: set[int]
) -> None:
    where = topology(affinity=sorted(affinity))
    places = apart(where, workers, generators)
    if places is None:
        assert workers + generators > len(affinity)
        return
    pinned = {cpu for (cpu,) in pinning(cpu_order(where), workers)}
    assert pinned <= set(places.workers)
    assert set(places.workers) | set(places.generator) == affinity
    assert not set(places.workers) & set(places.generator)
    assert len(places.generator) >= generators


def test_cpus_are_read_back_from_every_thread() -> None:
    mine = sorted(os.sched_getaffinity(0))
    code = f"""if True:
        import os, threading
        os.sched_setaffinity(0, {mine[:1]})
        def moved():
            os.sched_setaffinity(0, {mine[-1:]})
            print(flush=True)
            threading.Event().wait()
        threading.Thread(target=moved, daemon=True).start()
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        assert cpus_of([other.pid]) == sorted({mine[0], mine[-1]})
    assert cpus_of([other.pid]) == []


needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU")


def loaded(cpus: tuple[list[int], list[int]] | None) -> Load:
    ending = served("workers.workloads.serve:Serve", apart=cpus)
    assert ending.load is not None, ending
    return ending.load


@needs_two
@pytest.mark.slow
def test_a_run_records_where_both_were() -> None:
    first, *_, last = sorted(os.sched_getaffinity(0))
    load = loaded(([first], [last]))
    assert (load.worker_cpus, load.cpus) == ([first], [last])


@pytest.mark.slow
def test_a_run_whose_generator_shares_cpus_says_so() -> None:
    load = loaded(None)
    assert (load.worker_cpus, load.cpus) == (None, None)


@needs_two
@pytest.mark.slow
def test_a_generator_that_is_elsewhere_is_read_back_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: nobody is moved, as where a container forbids it."""
    everywhere = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: None)
    load = loaded((everywhere[:1], everywhere[-1:]))
    assert load.worker_cpus == load.cpus == everywhere
