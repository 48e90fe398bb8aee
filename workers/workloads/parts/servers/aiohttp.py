"""A small application on aiohttp.web: one route, answered with a body of constant length."""

from typing import Any

from aiohttp import web

from workers import Worker
from workers.workloads.parts.servers.base import BaseServer
from workers.workloads.parts.servers.on_aiohttp import OnAiohttp
from workers.workloads.parts.work import PerRequest


def requests(response_bytes: int) -> list[dict[str, Any]]:
    """A GET of the one route."""
    del response_bytes
    return [{"path": "/", "status": 200}]


def make(worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
    """Make the server of one worker."""
    return OnAiohttp(worker, lambda: application(per_request, response_bytes))


def application(per_request: PerRequest, response_bytes: int) -> web.Application:
    """Make the application."""
    body = b"x" * response_bytes

    async def answer(_request: web.Request) -> web.Response:
        await per_request.done()
        return web.Response(body=body, content_type="text/plain")

    made = web.Application()
    made.router.add_get("/", answer)
    return made
