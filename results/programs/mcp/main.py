"""The server of the MCP SDK's tutorial, without sessions, beside a mock of a model.

The mock answers as OpenAI's API streams: server-sent events that end with `[DONE]`. It never
waits, so what is measured is what it costs to serve a token.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from mcp.server import MCPServer
from starlette.requests import Request
from starlette.responses import StreamingResponse

TOKENS = 32


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def greeting(name: str) -> str:
    """Greet someone by name."""
    return f"Hello, {name}!"


async def events(prompt: str) -> AsyncIterator[str]:
    """The answer to a prompt: its words again and again, an event for each."""
    words = prompt.split()
    for number in range(TOKENS):
        delta = {"content": f"{words[number % len(words)]} "}
        chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
        yield f"data: {json.dumps(chunk)}\n\n"
        await asyncio.sleep(0)  # others run while a model works on the next token
    yield "data: [DONE]\n\n"


async def complete(request: Request) -> StreamingResponse:
    """Stream the answer to the last message of a chat."""
    document = await request.json()
    answer = events(document["messages"][-1]["content"])
    return StreamingResponse(answer, media_type="text/event-stream")


def create_app() -> Any:
    """An application of its own for each loop: its session manager runs once."""
    server = MCPServer("Demo", log_level="WARNING")
    server.add_tool(add)
    server.resource("greeting://{name}")(greeting)
    server.custom_route("/v1/chat/completions", methods=["POST"])(complete)
    return server.streamable_http_app(stateless_http=True, json_response=True)
