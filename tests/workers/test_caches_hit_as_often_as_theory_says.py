"""Our own caches have the hits that theory gives for independent draws by a Zipf law.

Least recently used goes first: H. Che, Y. Tung, Z. Wang, Hierarchical Web Caching Systems, IEEE
JSAC 20(7), 2002. First in, first out: R. Fagin, T. Price, Efficient Calculation of Expected Miss
Ratios in the Independent Reference Model, SIAM J. Comput. 7(3), 1978, in the form of V. Martina,
M. Garetto, E. Leonardi, INFOCOM 2014, 3.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache as kept_once
from typing import Any

import numpy as np
import pytest

from tests.support.children import FREE_THREADED, driven, each_case, finish, measured, pss_mib
from workers import Worker
from workers.cell import Cell
from workers.describe import load_choices
from workers.services.values import computed
from workers.worker.workload import parameters_of
from workers.workloads.cache import Cache
from workers.workloads.parts.lookups import DRAWN, MAKERS, Misses, drawn

POINTS = 2.0  # of 100

IN_USE: dict[str, Callable[[Any], Any]] = {  # of an array p T: whether each key is in the cache
    "lru_cache": lambda draws: 1 - np.exp(-draws),
    "cachetools": lambda draws: 1 - np.exp(-draws),
    "dict": lambda draws: draws / (1 + draws),
}


def expected_hits(cache: str, keys: int, entries: int, exponent: float) -> float:
    """In percent: the time T for which a key stays is that in which the cache is just full."""
    weights = np.arange(1, keys + 1) ** -exponent
    shares = weights / weights.sum()
    there = IN_USE[cache]
    least, most = 0.0, 1e9
    for _ in range(60):
        stays = (least + most) / 2
        if there(shares * stays).sum() < entries:
            least = stays
        else:
            most = stays
    return float(100 * (shares * there(shares * most)).sum())


@kept_once
def some_drawn(keys: int, exponent: float, seed: int) -> Sequence[int]:
    """A quarter of what a worker draws: hits scatter by less than half a point."""
    return drawn(range(keys), exponent, seed)[: DRAWN // 4]


@pytest.mark.one_build
@pytest.mark.parametrize(("entries", "exponent"), [(100, 0.6), (1000, 1.2)])
@pytest.mark.parametrize("cache", MAKERS)
def test_hits_are_those_of_the_closed_form(cache: str, entries: int, exponent: float) -> None:
    keys = 10_000
    assert expected_hits(cache, 100, 50, 0.0) == pytest.approx(50)  # what is obvious
    assert expected_hits(cache, 100, 100, 1.0) == pytest.approx(100, abs=0.01)
    misses = Misses(lambda: None)
    kept = MAKERS[cache](misses, entries)
    for key in some_drawn(keys, exponent, seed=1):
        kept(key)
    filled = misses.count
    measured = some_drawn(keys, exponent, seed=2)
    for key in measured:
        kept(key)
    hits = 100 * (1 - (misses.count - filled) / len(measured))
    assert hits == pytest.approx(expected_hits(cache, keys, entries, exponent), abs=POINTS)


@pytest.mark.parametrize("cache", MAKERS)
def test_values_are_those_of_their_keys_whoever_asks(cache: str) -> None:
    few: Any = MAKERS["dict"](Misses(lambda: None), 10)  # keeps no more than that
    for key in [*range(100), 99, 5]:
        few(key)
    assert list(few._values) == [*range(91, 100), 5]
    kept = MAKERS[cache](Misses(lambda: None), 50)
    wrong: list[str] = []

    def look_up(seed: int) -> None:
        wrong.extend(
            value
            for key in drawn(range(500), 1.0, seed)[:5_000]
            if (value := kept(key)) != computed(key)
        )

    threads = [threading.Thread(target=look_up, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_every_cache_is_declared_and_refused_where_its_package_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parameters_of(Cache)["cache"]["choices"] == [*MAKERS, "valkey"]
    assert Cache.holds
    assert Cache.holds.bytes_each.keys() == {*MAKERS, "valkey"}
    assert not any(each.refused for each in load_choices(Cache).values())
    for name in ("cachetools", "valkey.asyncio", "asyncpg"):
        monkeypatch.setitem(sys.modules, name, None)
    tried = load_choices(Cache).items()
    refused = {values: each.refused for values, each in tried if each.refused is not None}
    assert {value for ((_, value),) in refused} == {"cachetools", "valkey", "postgres"}
    assert "--with cachetools" in refused[(("cache", "cachetools"),)]


def cell(model: str, **parameters: object) -> dict[str, Any]:
    of_all = {"keys": 10_000, "entries": 1000, "miss_us": 1.0, **parameters}
    return {"workload": "cache", "workers": 2, "model": model, "parameters": of_all}


@pytest.mark.one_build
def test_each_worker_has_keys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same ones in the same order, one would find what another has just looked up."""
    seeds: list[int] = []

    def noted(_part: Sequence[int], _exponent: float, *, seed: int) -> Sequence[int]:
        seeds.append(seed)
        return [0]

    monkeypatch.setattr("workers.workloads.cache.drawn", noted)
    monkeypatch.setattr("workers.workloads.cache.once_per_process", lambda _, make: make())
    cache = Cache()
    cache.placed(Cell("cache"), None)
    cache.load()
    for index in range(2):
        asyncio.run(cache.setup(Worker(index, 2, {})))
    assert len({*seeds}) == 2


@pytest.mark.slow
@each_case(
    ("model", "of", "cache", "entries"),
    [
        ("threads", "each", "cachetools", 1000),
        ("processes", "all", "lru_cache", 500),
        ("interpreters", "each", "dict", 1000),
    ],
)
def test_hits_of_workers_are_those_of_the_caches_that_they_have_and_the_gil_stays_as_it_is(
    model: str, of: str, cache: str, entries: int
) -> None:
    record = measured(cell(model, of=of, cache=cache))
    assert record.process.gil.seen == (not FREE_THREADED,) * 4
    assert {worker.errors for worker in record.workers} == {0}
    expected = expected_hits(cache, 10_000, entries, 1.0)
    for worker in record.workers:
        assert worker.figures["hit_percent"] == pytest.approx(expected, abs=2 * POINTS)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.one_build
def test_memory_of_divided_caches_is_that_of_one() -> None:
    def memory_mib(of: str) -> float:
        parameters = {"of": of, "keys": 100_000, "entries": 40_000, "zipf": 0.0, "miss_us": 0.0}
        return pss_mib(driven({**cell("processes"), "parameters": parameters}))

    assert memory_mib("each") - memory_mib("all") > 4
    assert finish(cell("processes", entries=1)).code == 0  # fewer than workers are fine
