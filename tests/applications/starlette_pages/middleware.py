"""Middleware of its own: one as a class of ASGI, one as a function, as most applications have."""

import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LANGUAGES = ("en", "de")


class Language:
    """Finds the language of a request, and says it in the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Choose the language, then answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("accept-language", "")[:2]
        scope["language"] = asked if asked in LANGUAGES else LANGUAGES[0]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["content-language"] = scope["language"]
            await send(message)

        await self._app(scope, receive, noted)


async def request_id(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Give the request a number, which logs and answers have."""
    request.state.request_id = request.headers.get("x-request-id") or uuid.uuid4().hex
    response = await answer(request)
    response.headers["x-request-id"] = request.state.request_id
    response.headers["x-frame-options"] = "DENY"
    return response
