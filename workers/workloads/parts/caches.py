"""Caches of a program's own: each keeps the value of a key, or has it computed."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

from workers.services.valkey.values import computed

type Cache[V] = Callable[[int], V]


class DictCache[V]:
    """A dict: who finds a key takes no lock. The oldest entry goes first, however hot it is."""

    def __init__(self, compute: Cache[V], entries: int) -> None:
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


def _lru_cache[V](compute: Cache[V], entries: int) -> Cache[V]:
    return functools.lru_cache(maxsize=entries)(compute)


def _cachetools[V](compute: Cache[V], entries: int) -> Cache[V]:
    tools = _import_cachetools()
    cache: Any = tools.LRUCache(maxsize=entries)
    made: Cache[V] = tools.cached(cache, lock=threading.Lock())(compute)
    return made


def _import_cachetools() -> Any:
    try:
        return importlib.import_module("cachetools")
    except ImportError as error:
        raise ImportError(f"{error}; add --with cachetools") from None


class Misses:
    """Computes what a cache has not: CPU work, counted for the thread that does it."""

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
        """How many the calling thread has computed."""
        return getattr(self._of, "count", 0)

    @property
    def free(self) -> bool:
        """Whether the calling thread only fills the cache, which costs nothing."""
        return getattr(self._of, "free", False)

    @free.setter
    def free(self, value: bool) -> None:
        self._of.free = value


MAKERS: dict[str, Callable[[Cache[Any], int], Cache[Any]]] = {
    "dict": DictCache,
    "lru_cache": _lru_cache,
    "cachetools": _cachetools,
}
LOADS: dict[str, Callable[[], object]] = {"cachetools": _import_cachetools}
