"""What these applications have in common: a function that replies, served by ASGI and by WSGI."""

import http
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any

from .asgi import Application, Message, Receive, Send, no_lifespan


@dataclass(frozen=True)
class Asked:
    """A request: `POST /items/a`, its cookies."""

    method: str
    path: str
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Reply:
    """An answer: its status, its document, and a cookie that it sets."""

    status: int = 200
    document: object = None
    cookie: str = ""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Its headers."""
        return [
            ("content-type", "application/json"),
            *([("set-cookie", self.cookie)] if self.cookie else []),
        ]


type Handler = Callable[[Asked], Reply]


def applications(*replies: Handler) -> tuple[SimpleNamespace, SimpleNamespace]:
    """The applications whose requests these functions answer, by name: of ASGI, and of WSGI."""
    return (
        SimpleNamespace(**{each.__name__: _on_asgi(each) for each in replies}),
        SimpleNamespace(**{each.__name__: _on_wsgi(each) for each in replies}),
    )


def _on_asgi(reply: Handler) -> Application:

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await no_lifespan(receive, send)
            return
        cookie = dict(scope["headers"]).get(b"cookie", b"").decode()
        found = reply(Asked(scope["method"], scope["path"], _cookies(cookie)))
        headers = [(name.encode(), value.encode()) for name, value in found.headers]
        await send({"type": "http.response.start", "status": found.status, "headers": headers})
        body = json.dumps(found.document).encode()
        await send({"type": "http.response.body", "body": body})

    return application


def _on_wsgi(reply: Handler) -> Callable[..., Iterable[bytes]]:
    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        cookies = _cookies(environ.get("HTTP_COOKIE", ""))
        found = reply(Asked(environ["REQUEST_METHOD"], environ["PATH_INFO"], cookies))
        status = f"{found.status} {http.HTTPStatus(found.status).phrase}"
        start_response(status, found.headers)
        return [json.dumps(found.document).encode()]

    return application


def _cookies(header: str) -> dict[str, str]:
    return {name: each.value for name, each in SimpleCookie(header).items()}
