"""A row as JSON, with Sanic."""

from typing import Any

from sanic import Request, Sanic
from sanic.response import HTTPResponse, json

from workers.workloads.parts.stack.rows import AsyncRows

type Application = Sanic[Any, Any]


def make() -> Application:
    """Make the application of one worker."""
    app = Sanic("web", configure_logging=False)  # its server's processes find it by this name
    app.config.USE_UVLOOP = False  # the loop is the one that serves it; its own server has asyncio
    rows = AsyncRows()

    @app.get("/row")
    async def row(_request: Request) -> HTTPResponse:
        return json(await rows.any())

    @app.before_server_start
    async def start(_app: Application) -> None:
        await rows.open()

    @app.after_server_stop
    async def stop(_app: Application) -> None:
        await rows.close()

    return app
