"""A tool of an MCP server, called 6,000 times without network: CPU time, cycles and collections.

    python3.14t mcp_calls.py function          a plain function: the SDK calls it in a worker thread
    python3.14t mcp_calls.py coroutine         the same tool as a coroutine: it stays in its loop
    python3.14t mcp_calls.py coroutine mended  bound methods are not kept: no cycles

It needs mcp. It prints what a call leaves to the collector, its CPU time, and the longest collection.
"""

import asyncio
import gc
import sys
import time

from mcp.server import MCPServer
from mcp.server.runner import ServerRunner

BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}'
HEADERS = [(b"host", b"127.0.0.1:80"), (b"content-type", b"application/json"), (b"accept", b"*/*")]
SCOPE, edges_s = {"type": "http", "method": "POST", "path": "/mcp", "headers": HEADERS}, []


def function(a: int, b: int) -> int:
    return a + b


async def coroutine(a: int, b: int) -> int:
    return a + b


async def calls(app, count):
    async def receive():
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message):
        assert message.get("status", 200) == 200, message

    async with app.router.lifespan_context(app):
        for _ in range(count):
            await app(dict(SCOPE), receive, send)


def cpu_us(count):
    server = MCPServer("Demo", log_level="WARNING")
    server.add_tool(globals()[sys.argv[1]], name="add")
    before_s = time.process_time()
    asyncio.run(calls(server.streamable_http_app(stateless_http=True, json_response=True), count))
    return 1e6 * (time.process_time() - before_s) / count


if "mended" in sys.argv:
    ServerRunner.on_request = property(lambda self: self._on_request)
    ServerRunner.on_notify = property(lambda self: self._on_notify)
gc.disable()
objects = [gc.collect() / 300 for _ in range(2) if cpu_us(300)][1]
gc.enable()
gc.callbacks.append(lambda *_: edges_s.append(time.thread_time()))
print(f"objects {objects:.0f} cpu_us {cpu_us(6_000):.0f} collections {len(edges_s) // 2}", end=" ")
longest_s = max((b - a for a, b in zip(edges_s[::2], edges_s[1::2])), default=0)
print(f"longest_ms {1e3 * longest_s:.1f}", flush=True)
