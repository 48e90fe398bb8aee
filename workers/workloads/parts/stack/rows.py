"""Rows for an application without a loop: psycopg and its pool, which threads share."""

from psycopg_pool import ConnectionPool

from workers.workloads.parts.stack.database import WAIT_S, Database, Keys

QUERY = "select a, b from row where a = %s"


class Rows:
    """The pool of one worker."""

    def __init__(self) -> None:
        database = Database.from_environment()
        self._keys = Keys(database.rows)
        self._pool = ConnectionPool(
            database.url,
            kwargs={
                "autocommit": True,
                # Prepared from the 5th time on, or never.
                **({} if database.cached else {"prepare_threshold": None}),
            },
            min_size=database.connections,
            max_size=database.connections,
            timeout=WAIT_S,
            open=True,
        )
        self._pool.wait()

    def any(self) -> dict[str, object]:
        """A row, by a random key."""
        with self._pool.connection() as connection:
            row = connection.execute(QUERY, [self._keys.any()]).fetchone()
        assert row
        return {"a": row[0], "b": row[1]}
