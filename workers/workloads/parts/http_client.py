"""What workloads with aiohttp as their client share: what is in use, and where their server is."""

import aiohttp
import aiohttp.http_parser

from workers import Worker


def client_facts() -> dict[str, str]:
    """Tell the client in use; aiohttp falls back to pure Python without a word."""
    http = aiohttp.http_parser
    pure = http.HttpResponseParser is http.HttpResponseParserPy
    return {
        "http_client": f"aiohttp {aiohttp.__version__}",
        "http_parser": "python" if pure else "c",
    }


def service_url(worker: Worker, service: str, needs: str) -> str:
    """The worker's own URL of a service that the driver has started; workers share them evenly.

    Raises:
        ValueError: there is none; says who `needs` it ("fetch needs a server").
    """
    urls = worker.services.get(service)
    if not urls:
        raise ValueError(
            f"{needs}: start `python -m workers.{service}` and put its URLs into "
            f'"services": {{"{service}": [...]}}'
        )
    return urls[worker.index % len(urls)]
