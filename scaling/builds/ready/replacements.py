"""What is known to replace a package that blocks a free-threaded build: one entry each.

An entry says so with its source. Those that name requirements in `tried` are checked by a test: on
3.14t these leave the GIL off.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Replacement:
    """What to do instead of using a package, and where that is said.

    `modules` are the names that the package is imported by, where they differ from its own.
    """

    instead: str
    source: str
    tried: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PSYCOPG2 = Replacement(
    "use psycopg 3 in pure Python, or asyncpg",
    "https://github.com/psycopg/psycopg2/issues/1810",
    ("psycopg", "asyncpg"),
    ("psycopg2",),
)

# By name, as uv writes it.
REPLACEMENTS: Mapping[str, Replacement] = {
    "brotli": Replacement(
        "use brotlicffi, or leave brotli out (aiohttp imports it where it is installed)",
        "https://github.com/google/brotli/issues/1241",
        ("brotlicffi",),
        ("brotli", "_brotli"),
    ),
    "ddtrace": Replacement(
        "trace with OpenTelemetry, sent as OTLP over HTTP",
        "https://github.com/DataDog/dd-trace-py/issues/14924",
        ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    ),
    "duckdb": Replacement(
        "use sqlite3, or bareduckdb",
        "https://github.com/duckdb/duckdb-python/pull/76",
        ("bareduckdb",),
        ("duckdb", "_duckdb"),
    ),
    "grpcio": Replacement(
        "for telemetry send OTLP over HTTP (opentelemetry-exporter-otlp-proto-http)",
        "https://github.com/grpc/grpc/issues/41461",
        ("opentelemetry-exporter-otlp-proto-http",),
        ("grpc",),
    ),
    "hdrhistogram": Replacement(
        "use fastdigest, or count in a histogram in Python",
        "https://github.com/pantsbuild/pants/pull/23490",
        ("fastdigest",),
        ("hdrh", "pyhdrh"),
    ),
    "hiredis": Replacement(
        "leave hiredis out: redis has a parser in Python",
        "https://github.com/redis/hiredis-py/issues/229",
        ("redis",),
    ),
    "lxml": Replacement(
        "use lxml 7.0 (7.0.0b1 leaves the GIL off), selectolax or html.parser",
        "https://github.com/lxml/lxml/pull/477",
        ("lxml>=7.0.0b1", "selectolax"),
    ),
    "orjson": Replacement(
        "use msgspec, or the json of the standard library",
        "https://github.com/ijl/orjson/issues/616",
        ("msgspec",),
    ),
    "psycopg2": PSYCOPG2,
    "psycopg2-binary": PSYCOPG2,
    "sqlalchemy": Replacement(
        "use SQLAlchemy 2.1 or newer, which leaves the GIL off",
        "https://github.com/sqlalchemy/sqlalchemy/issues/13592",
        ("sqlalchemy>=2.1",),
    ),
    "zstandard": Replacement(
        "use compression.zstd of the standard library",
        "https://github.com/indygreg/python-zstandard/issues/231",
    ),
}

OTHERWISE = "look for a version of that package that supports this build, or leave it out"


def instead_of_module(module: str) -> str:
    """What to do about a module that turns the GIL on, such as `psycopg2._psycopg`."""
    top = module.partition(".")[0]
    for name, each in REPLACEMENTS.items():
        if top in (each.modules or (name,)):
            return each.instead
    return OTHERWISE
