"""What workloads with aiohttp as their client share: which client and parser is in use."""

import aiohttp
import aiohttp.http_parser


def client_facts() -> dict[str, str]:
    """The client and parser in use; aiohttp falls back to pure Python without a warning."""
    http = aiohttp.http_parser
    pure = http.HttpResponseParser is http.HttpResponseParserPy
    return {
        "http_client": f"aiohttp {aiohttp.__version__}",
        "http_parser": "python" if pure else "c",
    }
