"""The schema of `built_lazily` in aiohttp and WSGI applications; aiohttp's has its sound twin."""

from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from . import built_lazily, built_once


def _aiohttp(title: Callable[[], str]) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"title": title(), "path": request.path})

    made = web.Application()
    made.router.add_get("/{user}", answer)
    return made


def create_aiohttp() -> web.Application:
    """An application for each loop, and one schema for all."""
    return _aiohttp(built_lazily.title)


def create_sound_aiohttp() -> web.Application:
    """The same, guarded by a lock."""
    return _aiohttp(built_once.title)


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the title of the schema."""
    text = f"{built_lazily.title()} {environ['PATH_INFO']}"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]
