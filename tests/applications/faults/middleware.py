"""Middleware with state of its own: loops that come first at once each build another instance."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


class RateLimit:
    """Counts requests of each client."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.requests: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count, then answer."""
        client = str(scope.get("client"))
        self.requests[client] = self.requests.get(client, 0) + 1
        await self.app(scope, receive, send)


async def stock(request: Request) -> JSONResponse:
    """A constant answer."""
    return JSONResponse({"tea": 3})


def create_app() -> Starlette:
    """The remedy: an application for each loop."""
    return Starlette(routes=[Route("/stock", stock)], middleware=[Middleware(RateLimit)])


application = create_app()
