"""What a cache keeps: the value of each key, by what a miss costs. It follows from the key."""

from collections.abc import Callable

from workers.services.postgres.table import letters


def computed(key: int) -> str:
    """The value that CPU work has."""
    return f"value {key:026}"


def read(key: int) -> str:
    """The value that is read from PostgreSQL: rows count from 1."""
    return letters(key + 1)


VALUES: dict[str, Callable[[int], str]] = {"cpu": computed, "postgres": read}
