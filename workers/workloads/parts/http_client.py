"""What workloads with aiohttp as their client share: the parser in use, the server's URL."""

import aiohttp
import aiohttp.http_parser

from workers import Worker


def client_facts() -> dict[str, str]:
    """The client and parser in use; aiohttp falls back to pure Python without a warning."""
    http = aiohttp.http_parser
    pure = http.HttpResponseParser is http.HttpResponseParserPy
    return {
        "http_client": f"aiohttp {aiohttp.__version__}",
        "http_parser": "python" if pure else "c",
    }


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
