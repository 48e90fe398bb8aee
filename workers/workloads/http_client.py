"""aiohttp as a workload's client: which version it is, and which parser it really uses."""

import aiohttp
import aiohttp.http_parser


def client_facts() -> dict[str, str]:
    """Tell the client in use; aiohttp falls back to pure Python without a word."""
    http = aiohttp.http_parser
    pure = http.HttpResponseParser is http.HttpResponseParserPy
    return {
        "http_client": f"aiohttp {aiohttp.__version__}",
        "http_parser": "python" if pure else "c",
    }
