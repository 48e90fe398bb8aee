"""Middleware with state of its own."""

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send


class RateLimit:
    """Counts the requests of each client."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.counts: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count, then answer."""
        client = str(scope.get("client"))
        self.counts[client] = self.counts.get(client, 0) + 1
        await self.app(scope, receive, send)


async def stock() -> dict[str, int]:
    """A constant answer."""
    return {"tea": 3}


def create_app() -> FastAPI:
    """Make an application."""
    made = FastAPI()
    made.add_middleware(RateLimit)
    made.get("/")(stock)
    return made


app = create_app()
