"""The applications of `web`, which answer with a row of a database, a module each.

A value of `stack`, as in `flask/gunicorn-sync`, names an entry of `APPLICATIONS` and one of
`workers.workloads.parts.commands.SERVERS` (`loops`: this project's server on each loop).
"""

from dataclasses import dataclass
from importlib import metadata
from typing import Literal

CALLED = "make"  # in each module: makes the application of one worker


@dataclass(frozen=True)
class Application:
    """A module of this package. `packages` are those of framework and driver, for the record."""

    module: str
    interface: Literal["asgi", "aiohttp", "wsgi"]
    driver: Literal["asyncpg", "psycopg"]

    @property
    def path(self) -> str:
        """Its factory as `package.module:name`, as servers want it."""
        return f"{__name__}.{self.module}:{CALLED}"

    def facts(self) -> dict[str, str]:
        """Versions of framework and driver, for the record.

        Raises:
            PackageNotFoundError: one of them is not installed.
        """
        return {
            "framework": f"{self.module} {metadata.version(self.module)}",
            "driver": f"{self.driver} {metadata.version(self.driver)}",
        }


APPLICATIONS = {
    "starlette": Application("starlette", "asgi", "asyncpg"),
    # With the driver of the applications without a loop: what is left is not the driver's.
    "starlette-psycopg": Application("starlette", "asgi", "psycopg"),
    "aiohttp": Application("aiohttp", "aiohttp", "asyncpg"),
    "sanic": Application("sanic", "asgi", "asyncpg"),
    "flask": Application("flask", "wsgi", "psycopg"),
    "bottle": Application("bottle", "wsgi", "psycopg"),
    "falcon": Application("falcon", "wsgi", "psycopg"),
}

# Applications and servers of the source that cannot run here, and why.
NOT_HERE = {
    "meinheld": "its last release is of 2020 and does not load on Python 3.14",
    "uwsgi": "it has no wheel: it is built from source, with a C compiler, into one interpreter",
    "gunicorn-gevent": "gevent has no wheel for 3.14t, and replaces the threads that are compared",
    "flask-psycopg2": "psycopg2 turns the GIL back on; psycopg 3 is measured instead",
}
