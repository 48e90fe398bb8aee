"""Look-ups by key: in a cache of a program's own, of a server, or of a database."""

import functools
import importlib
import random
import threading
from abc import ABC, abstractmethod
from array import array
from bisect import bisect
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate, islice
from typing import Any

from workers.services.values import AT_ONCE, VALUES, computed, letters
from workers.workloads.parts.clients import STATEMENTS
from workers.workloads.parts.stack.rows import AsyncpgPool, Database

# --------------------------------------------------------------------------------------------- keys
# Keys by which data are read: a part of them, and how hot each is.

DRAWN = 1 << 17  # keys drawn beforehand: 512 KiB
SEED = 1
SCATTER = 2_654_435_761  # a prime, so that each rank has a place of its own


def part_of(count: int, percent: float) -> Sequence[int]:
    """Keys of `percent` of `count` objects, at random places."""
    if percent >= 100:
        return range(count)
    chance = random.Random(SEED).random
    return array("I", (key for key in range(count) if 100 * chance() < percent))


def drawn(part: Sequence[int], exponent: float, seed: int = SEED) -> "array[int]":
    """`DRAWN` keys by a Zipf law: the k-th hottest is drawn in proportion to 1 / k^exponent.

    With 0 all are as hot. Which ones are hot has nothing to do with their places.
    """
    chance, count = random.Random(seed).random, len(part)
    if not exponent:
        return array("I", (part[int(chance() * count)] for _ in range(DRAWN if part else 0)))
    weights = array("d", accumulate((rank + 1) ** -exponent for rank in range(count)))
    ranks = (bisect(weights, chance() * weights[-1], hi=count - 1) for _ in range(DRAWN))
    return array("I", (part[rank * SCATTER % count] for rank in ranks))


# ------------------------------------------------------------------------------------------- caches
# Caches of a program's own: each keeps the value of a key, or has it computed.

type ByKey[V] = Callable[[int], V]  # computes a value, or keeps those that were computed


class DictCache[V]:
    """A dict, read without a lock. The oldest entry is dropped first, however hot it is."""

    def __init__(self, compute: ByKey[V], entries: int) -> None:
        self._compute = compute
        self._entries = entries
        self._values: dict[int, V] = {}
        self._lock = threading.Lock()

    def __call__(self, key: int) -> V:
        """The value of a key."""
        found = self._values.get(key)
        if found is not None:
            return found
        value = self._compute(key)
        with self._lock:
            values = self._values
            if key not in values and len(values) >= self._entries:
                del values[next(iter(values))]
            values[key] = value
        return value


def _lru_cache[V](compute: ByKey[V], entries: int) -> ByKey[V]:
    return functools.lru_cache(maxsize=entries)(compute)


def _cachetools[V](compute: ByKey[V], entries: int) -> ByKey[V]:
    tools = import_cachetools()
    cache: Any = tools.LRUCache(maxsize=entries)
    made: ByKey[V] = tools.cached(cache, lock=threading.Lock())(compute)
    return made


def import_cachetools() -> Any:
    """Import cachetools.

    Raises:
        ImportError: it is not installed; says what to do.
    """
    try:
        return importlib.import_module("cachetools")
    except ImportError as error:
        raise ImportError(f"{error}; add --with cachetools") from None


class Misses:
    """Computes the values that a cache lacks: CPU work, counted for the thread that does it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._of = threading.local()

    def __call__(self, key: int) -> str:
        """Compute a value."""
        self._of.count = self.count + 1
        if not self.free:
            self._work()
        return computed(key)

    @property
    def count(self) -> int:
        """The number of values that the calling thread has computed."""
        return getattr(self._of, "count", 0)

    @property
    def free(self) -> bool:
        """True if the calling thread only fills the cache, which costs nothing."""
        return getattr(self._of, "free", False)

    @free.setter
    def free(self, value: bool) -> None:
        self._of.free = value


MAKERS: dict[str, Callable[[ByKey[Any], int], ByKey[Any]]] = {
    "dict": DictCache,
    "lru_cache": _lru_cache,
    "cachetools": _cachetools,
}


# ------------------------------------------------------------------------------------------ lookups


class DatabaseValues(AsyncpgPool):
    """The values of keys as rows of PostgreSQL, with connections for each worker."""

    def __init__(self, url: str, rows: int, connections: int) -> None:
        super().__init__(Database(url, rows, connections, 1, int(STATEMENTS), "asyncpg"))

    async def __call__(self, key: int) -> str:
        """Read a row; they count from 1.

        Raises:
            RuntimeError: it is another one.
        """
        row, value = await self.fetch(key + 1)
        if value != letters(key + 1):
            raise RuntimeError(f"PostgreSQL answered {(row, value)} for the row {key + 1}")
        return value


type Fetch = Callable[[int], Awaitable[str]]


class LookUps(ABC):
    """A cache that has the values fetched that it lacks; `missed` counts them."""

    def __init__(self, miss: str, fetch: Fetch) -> None:
        self._value = VALUES[miss]
        self._fetch = fetch
        self.missed = 0

    @abstractmethod
    async def fill(self, keys: Sequence[int]) -> None:
        """Fill the cache as if these keys had been looked up, at no cost."""

    @abstractmethod
    async def __call__(self, key: int) -> str:
        """The value of a key."""

    @abstractmethod
    async def close(self) -> None:
        """Close its connections."""


class Place:
    """The entry of a key in a cache in memory: its value, once that was fetched."""

    __slots__ = ("value",)

    def __init__(self, _key: int) -> None:
        self.value: str | None = None


class InMemory(LookUps):
    """A cache of the process keeps a place for each key, since it cannot wait for a value itself.

    Two that look for the same key at the same time both fetch its value.
    """

    def __init__(self, places: ByKey[Place], miss: str, fetch: Fetch) -> None:
        super().__init__(miss, fetch)
        self._places = places

    async def fill(self, keys: Sequence[int]) -> None:
        for key in keys:
            self._places(key).value = self._value(key)

    async def __call__(self, key: int) -> str:
        place = self._places(key)
        if (found := place.value) is None:
            self.missed += 1
            found = place.value = await self._fetch(key)
        return found

    async def close(self) -> None:
        """There is nothing to close."""


class InValkey(LookUps):
    """A cache of `entries` in a server, as the client of one worker sees it."""

    def __init__(self, url: str, entries: int, connections: int, miss: str, fetch: Fetch) -> None:
        from valkey.asyncio import Valkey

        super().__init__(miss, fetch)
        self._client: Any = Valkey.from_url(url, max_connections=connections, decode_responses=True)
        self._entries = entries

    async def fill(self, keys: Sequence[int]) -> None:
        """Fill the server as if these keys had been looked up."""
        recent = [*islice(dict.fromkeys(reversed(keys)), self._entries)][::-1]
        for first in range(0, len(recent), AT_ONCE):
            some = recent[first : first + AT_ONCE]
            await self._client.mset({key: self._value(key) for key in some})

    async def __call__(self, key: int) -> str:
        """The value of a key.

        Raises:
            RuntimeError: it is that of another key.
        """
        found: str | None = await self._client.get(key)
        if found is None:
            self.missed += 1
            found = await self._fetch(key)
            await self._client.set(key, found)
        elif found != self._value(key):
            raise RuntimeError(f"Valkey answered {found!r} for the key {key}")
        return found

    async def close(self) -> None:
        await self._client.aclose()
