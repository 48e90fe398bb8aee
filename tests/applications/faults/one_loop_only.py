"""One aiohttp Application for all loops, which it refuses."""

from aiohttp import web


async def stock(request: web.Request) -> web.Response:
    """A constant answer."""
    return web.json_response({"tea": 3})


def create_app() -> web.Application:
    """The remedy: an application for each loop."""
    made = web.Application()
    made.router.add_get("/stock", stock)
    return made


application = create_app()
