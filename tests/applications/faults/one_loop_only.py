"""One aiohttp Application for all loops, which it refuses."""

from aiohttp import web


async def stock(request: web.Request) -> web.Response:
    """A constant answer."""
    return web.json_response({"tea": 3})


application = web.Application()
application.router.add_get("/stock", stock)
