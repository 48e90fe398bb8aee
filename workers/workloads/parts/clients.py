"""Clients of services: URLs, variables of an application for them, facts of the HTTP client."""

from collections.abc import Mapping, Sequence

from workers import Worker

URL, CACHE, DOWNSTREAM = "SCALING_DATABASE_URL", "SCALING_STATEMENT_CACHE", "SCALING_DOWNSTREAM_URL"
STATEMENTS = "100"  # that a connection keeps prepared, as asyncpg does by default


def service_variables(services: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """URLs of the database and of a service downstream, and how many statements to keep prepared.

    `services` are URLs by service. The database is reached through pgbouncer if that is there; its
    URL says whether it loses prepared statements (before 1.21).
    """
    variables = {}
    if database := services.get("pgbouncer") or services.get("postgres"):
        url, _, settings = database[0].partition("?")
        variables = {URL: url, CACHE: "0" if settings == "prepared=0" else STATEMENTS}
    if downstream := services.get("responder"):
        variables[DOWNSTREAM] = downstream[0]
    return variables


def service_url(worker: Worker, service: str, workload: str) -> str:
    """This worker's URL of a service that the driver has started; workers share the URLs evenly.

    Raises:
        ValueError: the cell names no URL of that service; `workload` is for the message.
    """
    urls = worker.services.get(service)
    if not urls:
        raise ValueError(
            f"{workload} needs a {service}: start `python -m workers.services.{service}` and put "
            f'its URLs into the cell: "services": {{"{service}": [...]}}'
        )
    return urls[worker.index % len(urls)]


def client_facts() -> dict[str, str]:
    """The HTTP client and its parser; aiohttp falls back to pure Python without a warning."""
    import aiohttp  # only workloads that have it as their client
    import aiohttp.http_parser

    http = aiohttp.http_parser
    pure = http.HttpResponseParser is http.HttpResponseParserPy
    return {
        "http_client": f"aiohttp {aiohttp.__version__}",
        "http_parser": "python" if pure else "c",
    }
