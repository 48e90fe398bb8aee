"""A small ASGI application on uvicorn: one route, answered with a body of constant length."""

from typing import Any

from workers import Worker
from workers.workloads.parts.servers.base import BaseServer
from workers.workloads.parts.servers.on_uvicorn import (
    Application,
    Message,
    OnUvicorn,
    Receive,
    Send,
)
from workers.workloads.parts.work import PerRequest

TEXT = (b"content-type", b"text/plain; charset=utf-8")


def requests(response_bytes: int) -> list[dict[str, Any]]:
    """A GET of the one route."""
    del response_bytes
    return [{"path": "/", "status": 200}]


def make(worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
    """Make the server of one worker."""
    return OnUvicorn(worker, lambda: application(per_request, response_bytes))


def application(per_request: PerRequest, response_bytes: int) -> Application:
    """Make the application."""
    body = b"x" * response_bytes

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
        elif scope["path"] != "/":
            await respond(send, 404, b"not found")
        elif scope["method"] != "GET":
            await respond(send, 405, b"method not allowed", (b"allow", b"GET"))
        else:
            await per_request.done()
            await respond(send, 200, body)

    return answer


async def lifespan(receive: Receive, send: Send) -> None:
    """Say that the application has started, and later that it has ended."""
    for _ in ("startup", "shutdown"):
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})


async def respond(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Answer a request."""
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [TEXT, length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
