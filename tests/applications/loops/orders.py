"""One aiohttp Application, and a function that makes one for each loop."""

from aiohttp import web


async def stock(request: web.Request) -> web.Response:
    """A constant answer."""
    return web.json_response({"tea": 3})


app = web.Application()
app.router.add_get("/", stock)


def create_app() -> web.Application:
    """Make an application."""
    made = web.Application()
    made.router.add_get("/", stock)
    return made
