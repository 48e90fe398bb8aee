"""Values that are costly to compute, kept in a cache: one for all loops, or one in each process."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from workers import Worker, Workload, parameter
from workers.worker.workload import Holds
from workers.workloads.parts.caches import LOADS, MAKERS, Misses
from workers.workloads.parts.caches import Cache as Kept
from workers.workloads.parts.keys import drawn
from workers.workloads.parts.once import of_process
from workers.workloads.parts.turns import turns, turns_of

ENTRY_BYTES = 400  # of a cache at most: key, value, links


@dataclass
class Cache(Workload):
    """A cache in memory: keys by a Zipf law, and a miss costs CPU time.

    One operation: one callback that looks up `lookups` keys. Threads share one cache of `entries`.
    Processes and sub-interpreters have one each: with `of=all` the entries are divided among them,
    so that all take as much memory as one; with `of=each` each has as many, for as many hits.

    Before it is measured each worker looks up all its keys once, at no cost, to fill the cache.
    `hit_percent` is over everything after that.
    """

    operation = "callbacks"
    alone = None
    holds: ClassVar[Holds | None] = Holds(
        what="cache",
        count="entries",
        by="cache",
        bytes_each=dict.fromkeys(MAKERS, ENTRY_BYTES),
        own_copies={},
    )

    cache: Literal["dict", "lru_cache", "cachetools"] = parameter(
        "lru_cache", "a dict without a lock for hits, functools, or cachetools with a lock"
    )
    entries: int = parameter(10_000, "how many values are kept", at_least=1)
    of: Literal["all", "each"] = parameter(
        "all", "whether entries are those of all caches, or of each"
    )
    keys: int = parameter(100_000, "how many keys there are", at_least=1)
    zipf: float = parameter(1.0, "how hot keys are: the exponent of a Zipf law", at_least=0)
    miss_us: float = parameter(
        50.0, "CPU work of a miss, nominal µs (30 turns of a loop each)", at_least=0
    )
    lookups: int = parameter(10, "keys that a callback looks up", at_least=1)

    def __post_init__(self) -> None:
        """Begin without a cache: a description loads every choice."""
        self._caches = 0

    def placed(self, model: str, workers: int, index: int | None) -> None:
        """Note how many caches the entries are for."""
        self._caches = 1 if model == "threads" or self.of == "each" else workers

    def load(self) -> None:
        """Import what the cache needs; make it, once for all loops of a process."""
        LOADS.get(self.cache, lambda: None)()
        if self._caches:
            self._misses, self._cache = of_process(Cache, self._make)

    def _make(self) -> tuple[Misses, Kept]:
        misses = Misses(partial(turns, turns_of(self.miss_us)))
        return misses, MAKERS[self.cache](misses, self._entries)

    @property
    def _entries(self) -> int:
        """Of one cache."""
        return max(1, self.entries // self._caches)

    def facts(self) -> dict[str, str]:
        """Which cache it is, and for how many entries."""
        return {"cache": self.cache, "entries": str(self._entries)}

    async def setup(self, worker: Worker) -> None:
        """Draw the worker's own keys, and fill the cache with them."""
        self._keys = drawn(range(self.keys), self.zipf, seed=worker.index + 1)
        self._misses.free = True
        for key in self._keys:
            self._cache(key)
        self._misses.free = False

    async def run(self, worker: Worker) -> None:
        """Schedule one callback after another until stopped; count the misses."""
        call_soon = asyncio.get_running_loop().call_soon
        cache, lookups = self._cache, self.lookups
        keys = self._keys * (1 + lookups // len(self._keys))
        last, at, done = len(keys) - lookups, 0, 0
        missed = self._misses.count

        def callback() -> None:
            nonlocal at, done
            for key in keys[at : at + lookups]:
                cache(key)
            at = at + lookups if at + lookups <= last else 0
            done += lookups
            worker.operations += 1
            if worker.running:
                call_soon(callback)

        call_soon(callback)
        await worker.stopped()
        worker.figures["hit_percent"] = 100 * (1 - (self._misses.count - missed) / done)
