"""Look-ups that wait for an answer: of a server, or of a database for what a cache has not."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any, Protocol

from workers.services.postgres.table import letters
from workers.services.valkey.values import VALUES
from workers.workloads.parts.caches import Cache, Misses
from workers.workloads.parts.stack.async_rows import AsyncpgPool
from workers.workloads.parts.stack.database import Database
from workers.workloads.parts.where import STATEMENTS

AT_ONCE = 50  # keys in a command that fills a server: it has buffers for them


class Missing(Protocol):
    """Has the values that a cache has not; `count` of them so far."""

    count: int

    async def __call__(self, key: int) -> str:
        """The value of a key."""

    async def close(self) -> None:
        """Close its connections."""


class Computed:
    """Values are CPU work."""

    def __init__(self, misses: Misses) -> None:
        self._misses = misses
        self.count = 0

    async def __call__(self, key: int) -> str:
        """Compute a value."""
        self.count += 1
        return self._misses(key)

    async def close(self) -> None:
        """There is nothing to close."""


class Rows:
    """Values are rows of PostgreSQL, with a pool of connections for each worker."""

    def __init__(self, url: str, rows: int, connections: int) -> None:
        self._pool = AsyncpgPool(Database(url, rows, connections, 1, int(STATEMENTS), "asyncpg"))
        self.count = 0

    async def open(self) -> None:
        """Make the connections."""
        await self._pool.open()

    async def __call__(self, key: int) -> str:
        """Read a row; they count from 1.

        Raises:
            RuntimeError: it is another one.
        """
        self.count += 1
        row, value = await self._pool.fetch(key + 1)
        if value != letters(key + 1):
            raise RuntimeError(f"PostgreSQL answered {(row, value)} for the row {key + 1}")
        return value

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()


class LookUps(ABC):
    """A cache that is asked for values, and has them fetched: `missed` so many."""

    def __init__(self, miss: str, missing: Missing) -> None:
        self._value = VALUES[miss]
        self._missing = missing

    @property
    def missed(self) -> int:
        """How many values were fetched."""
        return self._missing.count

    @abstractmethod
    async def fill(self, keys: Sequence[int]) -> None:
        """Look up keys; what is not there costs nothing."""

    @abstractmethod
    async def __call__(self, key: int) -> str:
        """The value of a key."""

    async def close(self) -> None:
        """Close its connections."""
        await self._missing.close()


class Place:
    """What a cache in memory keeps of a key: its value, once that was fetched."""

    __slots__ = ("value",)

    def __init__(self, _key: int) -> None:
        self.value: str | None = None


class InMemory(LookUps):
    """A cache of the process keeps a place for each key, since it cannot wait for a value itself.

    Two that look for the same key at the same time both fetch its value.
    """

    def __init__(self, places: Cache[Place], miss: str, missing: Missing) -> None:
        super().__init__(miss, missing)
        self._places = places

    async def fill(self, keys: Sequence[int]) -> None:
        """Look up keys; what is not there costs nothing."""
        for key in keys:
            self._places(key).value = self._value(key)

    async def __call__(self, key: int) -> str:
        """The value of a key."""
        place = self._places(key)
        if (found := place.value) is None:
            found = place.value = await self._missing(key)
        return found


class InValkey(LookUps):
    """A cache of `entries` in a server, as the client of one worker sees it."""

    def __init__(
        self, url: str, entries: int, connections: int, miss: str, missing: Missing
    ) -> None:
        from valkey.asyncio import Valkey

        super().__init__(miss, missing)
        self._client: Any = Valkey.from_url(url, max_connections=connections, decode_responses=True)
        self._entries = entries

    async def fill(self, keys: Sequence[int]) -> None:
        """Have in it what it has after these were looked up."""
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
            found = await self._missing(key)
            await self._client.set(key, found)
        elif found != self._value(key):
            raise RuntimeError(f"Valkey answered {found!r} for the key {key}")
        return found

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()
        await super().close()
