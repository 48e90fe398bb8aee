"""WebSockets on uvicorn, as websockets parses them: an operation is answered by messages."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from workers import Worker
from workers.cell import MESSAGES


class CountedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket of uvicorn that counts an operation by the messages that answer it."""

    def __init__(self, worker: Worker, application: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.app = application
        self._worker = worker
        self._sent = 0

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.send":
            self._sent += 1
            if self._sent % int(self.request.headers.get(MESSAGES, 1)) == 0:
                self._worker.operations += 1
