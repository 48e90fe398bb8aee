"""Xandikos with a calendar of some events, as its own `run_simple_server` sets it up."""

from pathlib import Path
from typing import Any

from aiohttp import web
from xandikos.store.git import GitStore
from xandikos.web import SingleUserFilesystemBackend, XandikosApp

from results.programs.events import EVENTS, event, made_once

PRINCIPAL = "/user/"


def make(folder: Path) -> None:
    """Fill the folder of its storage."""
    backend = SingleUserFilesystemBackend(str(folder))
    backend.create_principal(PRINCIPAL, create_defaults=True)
    calendar = GitStore.open_from_path(str(folder / "user" / "calendars" / "calendar"))
    for number in range(EVENTS):
        calendar.import_one(f"{number}.ics", "text/calendar", [event(number).encode()])


FOLDER = made_once("xandikos", make)


def create_app() -> web.Application:
    """An application of its own for each loop."""
    backend = SingleUserFilesystemBackend(str(FOLDER))
    backend._mark_as_principal(PRINCIPAL)
    served = XandikosApp(backend, current_user_principal=PRINCIPAL)

    async def answer(request: web.Request) -> Any:
        return await served.aiohttp_handler(request, "/")

    app = web.Application()
    app.router.add_route("*", "/{path_info:.*}", answer)
    return app
