"""A WSGI application as an ASGI one, called in the loop's own thread: one request at a time.

N loops then call it from N threads, as a server with N threads does. For checks: a loop adds to
the cost of a request.
"""

import io
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

type Message = MutableMapping[str, Any]
type Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class WsgiAsAsgi:
    """The ASGI application; it has no lifespan."""

    def __init__(self, application: Wsgi) -> None:
        self._application = application

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Read the request, call the application, send what it returned."""
        if scope["type"] != "http":
            raise RuntimeError("WSGI has only requests of HTTP")
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        start: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            start[:] = [(status, headers)]

        returned = self._application(_environ(scope, body), start_response)
        try:
            content = b"".join(returned)
        finally:
            if hasattr(returned, "close"):
                returned.close()
        status, headers = start[0]
        encoded = [
            (name.lower().encode("latin-1"), each.encode("latin-1")) for name, each in headers
        ]
        await send(
            {
                "type": "http.response.start",
                "status": int(status.partition(" ")[0]),
                "headers": encoded,
            }
        )
        await send({"type": "http.response.body", "body": content})


def _environ(scope: Message, body: bytes) -> dict[str, Any]:
    host, port = scope["server"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, encoded in scope["headers"]:
        key, value = name.decode("latin-1").upper().replace("-", "_"), encoded.decode("latin-1")
        if key == "CONTENT_LENGTH":
            continue
        if key != "CONTENT_TYPE":
            key = f"HTTP_{key}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    return environ
