"""What an application finds in its environment about the database, and the query of all of them.

Each loop, and each worker without one, has a pool of its own, all of whose connections are opened
at its start: its share of the connections that all workers have together. Each request is one
statement in a transaction of its own (autocommit), with either driver.
"""

import os
import random
from dataclasses import dataclass

from workers.workloads.parts.where import CACHE, URL

ROWS, DRIVER = "SCALING_DATABASE_ROWS", "SCALING_DATABASE_DRIVER"
LOOPS = "SCALING_DATABASE_LOOPS"
POOL = "SCALING_BUDGET_DB"
WAIT_S = 10.0  # limit for a connection of the pool; a request that waits longer has failed


@dataclass(frozen=True)
class Database:
    """Where the database is, and how this application may use it. `loops` is how many serve it.

    `cached` is how many prepared statements a connection keeps: 0 behind a pooler that loses them.
    """

    url: str
    rows: int
    connections: int
    loops: int
    cached: int
    driver: str

    @classmethod
    def from_environment(cls) -> "Database":
        """As the driver, the workload and the worker's budget say."""
        found = os.environ
        return cls(
            url=found[URL],
            rows=int(found[ROWS]),
            connections=int(found[POOL]),
            loops=int(found[LOOPS]),
            cached=int(found[CACHE]),
            driver=found[DRIVER],
        )

    @property
    def of_each_loop(self) -> int:
        """The connections of one loop."""
        return self.connections // self.loops


class Keys:
    """Random keys of rows that exist; each application has its own generator."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._random = random.Random()

    def any(self) -> int:
        """Any key, all equally likely."""
        return self._random.randint(1, self._rows)
