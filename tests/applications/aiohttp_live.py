"""A WebSocket of aiohttp.web that sends back what it gets."""

from aiohttp import web


async def websocket(request: web.Request) -> web.WebSocketResponse:
    answer = web.WebSocketResponse()
    await answer.prepare(request)
    async for message in answer:
        await answer.send_str(message.data)
    return answer


def create_app() -> web.Application:
    made = web.Application()
    made.router.add_get("/ws", websocket)
    return made
