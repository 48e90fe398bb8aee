"""Values that cost time, kept in a cache: one for all loops, one in each process, or a server."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import chain, islice, repeat
from typing import Any, ClassVar, Literal

from workers import Worker, Workload, parameter
from workers.cell import Cell
from workers.worker.shared import once_per_process
from workers.worker.workload import Holds
from workers.workloads.parts.clients import service_url
from workers.workloads.parts.lookups import (
    MAKERS,
    ByKey,
    DatabaseValues,
    Fetch,
    InMemory,
    InValkey,
    LookUps,
    Misses,
    Place,
    drawn,
    import_cachetools,
)
from workers.workloads.parts.work import call_back, turns, turns_of

FEWEST = 1_000  # entries of a server
VALKEY, POSTGRES = "valkey", "postgres"
ENTRY_BYTES = 400  # of a cache at most: key, value, links


@dataclass
class Cache(Workload):
    """A cache: keys by a Zipf law, and a miss costs CPU time or a query.

    One operation: one callback that looks up `lookups` keys. Threads share one cache of `entries`.
    Processes and sub-interpreters have one each: with `of=all` the entries are divided among them,
    so that all take as much memory as one; with `of=each` each has as many, for as many hits.

    With `cache=valkey` all share a server, over a Unix socket, which has memory for `entries` and
    evicts those that were not used for longest, as far as it looks. With `miss=postgres` a miss is
    a row of a database. Both are waited for, so each worker then has tasks instead of callbacks,
    as many as `connections`; each looks up its keys one after the other.

    Before it is measured each worker looks up all its keys once, at no cost, to fill the cache.
    `hit_percent` is over everything after that.
    """

    operation = "callbacks"
    alone: ClassVar[str | None] = None
    holds: ClassVar[Holds | None] = Holds(
        what="cache",
        count="entries",
        by="cache",
        bytes_each=dict.fromkeys([*MAKERS, VALKEY], ENTRY_BYTES),
        own_copies={},
        in_service={"cache": VALKEY},
    )

    cache: Literal["dict", "lru_cache", "cachetools", "valkey"] = parameter(
        "lru_cache",
        "a dict without a lock for hits, functools, cachetools with a lock, or a server",
    )
    entries: int = parameter(10_000, "how many values are kept", at_least=1)
    of: Literal["all", "each"] = parameter(
        "all", "whether entries are those of all caches, or of each"
    )
    keys: int = parameter(100_000, "how many keys there are", at_least=1)
    zipf: float = parameter(1.0, "how hot keys are: the exponent of a Zipf law", at_least=0)
    miss: Literal["cpu", "postgres"] = parameter("cpu", "what a miss costs: CPU work, or a query")
    miss_us: float = parameter(
        50.0, "CPU work of a miss, nominal µs (30 turns of a loop each)", at_least=0
    )
    rows: int = parameter(1_000_000, "rows of the database, a key each", at_least=1)
    lookups: int = parameter(10, "keys that an operation looks up", at_least=1)
    connections: int = parameter(
        4, "of each worker to server and database, one look-up in flight on each", at_least=1
    )

    def __post_init__(self) -> None:
        """Begin without a cache: a description loads every choice."""
        super().__post_init__()
        self._caches = 0
        self._look_ups: LookUps | None = None
        self._rows: DatabaseValues | None = None

    def placed(self, cell: Cell, index: int | None) -> None:
        """Note how many caches the entries are for.

        Raises:
            ValueError: there are more keys than rows, or the server is too small.
        """
        one = self.of == "each" or self.cache == VALKEY
        self._caches = 1 if one else cell.interpreters
        if self.miss == POSTGRES and self.keys > self.rows:
            raise ValueError(f"{self.keys:,} keys need as many rows, and {self.rows:,} are asked")
        if self.cache == VALKEY and self.entries < FEWEST:
            raise ValueError(
                f"Valkey's buffers change by as much memory as {self.entries:,} entries take: "
                f"raise entries to {FEWEST:,} or more"
            )

    def refuses(self, model: str, loop: str) -> str | None:
        if model == "interpreters" and self.miss == POSTGRES:
            return "asyncpg, which reads rows, does not load there"
        return super().refuses(model, loop)

    @property
    def _packages(self) -> list[str]:
        """The packages of clients."""
        asked = {VALKEY: self.cache == VALKEY, "asyncpg": self.miss == POSTGRES}
        return [name for name, is_asked in asked.items() if is_asked]

    def load(self) -> None:
        """Import what the cache needs; make it, once for all loops of a process."""
        if self.cache == "cachetools":
            import_cachetools()
        for name in self._packages:
            importlib.import_module(f"{name}.asyncio" if name == VALKEY else name)
        if self._caches:
            self._misses, self._cache = once_per_process(Cache, self._make)

    def _make(self) -> tuple[Misses, ByKey[Any]]:
        misses = Misses(partial(turns, turns_of(self.miss_us)))
        if self.cache == VALKEY:
            return misses, misses
        if self.miss == POSTGRES:
            return misses, MAKERS[self.cache](Place, self._entries)
        return misses, MAKERS[self.cache](misses, self._entries)

    @property
    def _entries(self) -> int:
        """The entries of one cache."""
        return max(1, self.entries // self._caches)

    def facts(self) -> dict[str, str]:
        """The cache, the number of its entries, and the versions of clients."""
        clients = {f"{name}_client": version(name) for name in self._packages}
        return {"cache": self.cache, "entries": str(self._entries), **clients}

    async def setup(self, worker: Worker) -> None:
        """Draw the worker's own keys, and fill the cache with them."""
        self._keys = drawn(range(self.keys), self.zipf, seed=worker.index + 1)
        if self._packages:
            self._look_ups = await self._connect(worker)
            await self._look_ups.fill(self._keys)
            return
        self._misses.free = True
        for key in self._keys:
            self._cache(key)
        self._misses.free = False

    async def run(self, worker: Worker) -> None:
        with self.counting_hits(worker):
            if self._look_ups:
                await self._run_tasks(worker, self.waiting(self._look_ups))
            else:
                await call_back(worker, self.looking_up())

    def looking_up(self) -> Callable[[], None]:
        """Return the function that looks up the next `lookups` keys in a cache of the process."""
        cache, lookups = self._cache, self.lookups
        keys = self._keys * (1 + lookups // len(self._keys))
        last, at = len(keys) - lookups, 0

        def look_up_next() -> None:
            nonlocal at
            for key in keys[at : at + lookups]:
                cache(key)
            at = at + lookups if at + lookups <= last else 0

        return look_up_next

    def waiting(self, look_up: LookUps) -> Callable[[], Awaitable[None]]:
        """Return the function that looks up the next `lookups` keys in a server or a database."""
        keys = chain.from_iterable(repeat(self._keys))

        async def look_up_next() -> None:
            for key in islice(keys, self.lookups):
                await look_up(key)

        return look_up_next

    @contextmanager
    def counting_hits(self, worker: Worker) -> Iterator[None]:
        """Record the share of hits among the look-ups during the block, as the worker's figure."""
        before = self._missed
        yield
        if done := self.lookups * worker.operations:
            worker.figures["hit_percent"] = 100 * (1 - (self._missed - before) / done)

    @property
    def _missed(self) -> int:
        """The number of values that the calling thread has computed or fetched."""
        return self._look_ups.missed if self._look_ups else self._misses.count

    async def _run_tasks(self, worker: Worker, look_up_next: Callable[[], Awaitable[None]]) -> None:
        async def task() -> None:
            while worker.running:
                await look_up_next()
                worker.operations += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(self.connections):
                group.create_task(task())

    async def _connect(self, worker: Worker) -> LookUps:
        """Connect the clients that a look-up needs."""
        fetch: Fetch = self._compute
        if self.miss == POSTGRES:
            url = service_url(worker, POSTGRES, "cache")
            values = DatabaseValues(url, self.rows, self.connections)
            await values.open()
            self._rows = fetch = values
        if self.cache == VALKEY:
            url = service_url(worker, VALKEY, "cache")
            return InValkey(url, self._entries, self.connections, self.miss, fetch)
        return InMemory(self._cache, self.miss, fetch)

    async def _compute(self, key: int) -> str:
        return self._misses(key)

    async def teardown(self, worker: Worker) -> None:
        if self._look_ups:
            await self._look_ups.close()
        if self._rows:
            await self._rows.close()
