"""A row as JSON, with aiohttp.web."""

from collections.abc import AsyncIterator

from aiohttp import web

from workers.workloads.parts.stack.rows import AsyncRows


def make() -> web.Application:
    """Make the application of one worker."""
    rows = AsyncRows()

    async def row(_request: web.Request) -> web.Response:
        return web.json_response(await rows.any())

    async def pool(_app: web.Application) -> AsyncIterator[None]:
        await rows.open()
        yield
        await rows.close()

    app = web.Application()
    app.router.add_get("/row", row)
    app.cleanup_ctx.append(pool)
    return app
