"""A desk with a login, a WebSocket and a stream of events, on Starlette; `create_app` makes it.

A token is signed, so that any process knows it. `create_forgetful` keeps tokens in the process.
What goes wrong is said with the token, as careless applications do.
"""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

MARK = "planted"
FIRST_S, LAST_S = 0.02, 0.02


def _signature(number: str) -> str:
    return hashlib.sha256(f"key {number}".encode()).hexdigest()[:16]


class Desk:
    """The handlers; `forgets`: what it knows is in this process alone."""

    def __init__(self, *, forgets: bool) -> None:
        self.known: set[str] = set()
        self.forgets = forgets
        self.opened = 0  # WebSockets
        self.asked: dict[int, list[str]] = {}  # by the port of the client

    def knows(self, token: str) -> bool:
        if self.forgets:
            return token in self.known
        mark, _, rest = token.partition("-")
        number, _, signature = rest.partition("-")
        return mark == MARK and signature == _signature(number)

    async def login(self, request: Request) -> Response:
        self.note(request)
        number = secrets.token_hex(4)
        token = f"{MARK}-{number}-{_signature(number)}"
        self.known.add(token)
        made = JSONResponse({"data": [{"token": token}], "id": 7}, headers={"X-Token": token})
        made.set_cookie("session", token)
        return made

    async def me(self, request: Request) -> Response:
        self.note(request)
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = given or request.cookies.get("session", "") or request.query_params.get("token", "")
        return JSONResponse({"known": self.knows(given)}, 200 if self.knows(given) else 401)

    async def echo(self, request: Request) -> Response:
        self.note(request)
        return Response(await request.body())

    async def raising(self, request: Request) -> Response:
        raise LookupError(f"no desk for {request.headers.get('authorization')}")

    async def events(self, request: Request) -> Response:
        async def made() -> AsyncIterator[str]:
            await asyncio.sleep(FIRST_S)
            yield "data: one\n\n"
            await asyncio.sleep(LAST_S)
            yield "data: [DONE]\n\n"

        return StreamingResponse(made(), media_type="text/event-stream")

    async def forever(self, request: Request) -> Response:
        async def made() -> AsyncIterator[str]:
            while True:
                yield "data: again\n\n"
                await asyncio.sleep(0.05)

        return StreamingResponse(made(), media_type="text/event-stream")

    async def websocket(self, websocket: WebSocket) -> None:
        await websocket.accept()
        self.opened += 1
        async for text in websocket.iter_text():
            if text == "silence":
                await asyncio.sleep(60)
            elif text == "fail":
                raise LookupError("no such message")
            else:
                known = self.knows(text)
                await websocket.send_text("known" if known else f"{text}?")

    def note(self, request: Request) -> None:
        assert request.client
        self.asked.setdefault(request.client.port, []).append(request.url.path)


def _application(desk: Desk) -> Starlette:
    made = Starlette(
        routes=[
            Route("/login", desk.login, methods=["POST"]),
            Route("/me", desk.me),
            Route("/echo", desk.echo, methods=["POST"]),
            Route("/raising", desk.raising),
            Route("/events", desk.events),
            Route("/forever", desk.forever),
            WebSocketRoute("/ws", desk.websocket),
        ]
    )
    made.state.desk = desk
    return made


def create_app() -> Starlette:
    return _application(Desk(forgets=False))


def create_forgetful() -> Starlette:
    return _application(Desk(forgets=True))


app = create_app()
forgetful = create_forgetful()
