"""An application behind servers as people deploy them, and what is left of these."""

from pathlib import Path
from typing import Any

import psutil

from scaling.run.child import Ending
from tests.support.children import record_of

SHOP = """
    async def app(scope, receive, send):
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    def create_app():
        return app

    def wsgi(environ, start_response):
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def create_wsgi():
        return wsgi
"""


def measured(ending: Ending) -> Any:
    """The record of a run whose load met no error."""
    record = record_of(ending)
    assert ending.load
    assert ending.load.errors == {}
    return record


def left_of(folder: Path) -> list[psutil.Process]:
    """Processes that were started by a run with that folder on its path."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in process.environ().get("PYTHONPATH", ""):
                found.append(process)
        except psutil.Error:
            continue
    return found
