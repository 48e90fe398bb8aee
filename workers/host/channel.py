"""The line between the host and a worker: JSON messages over one end of a socket pair.

Thread, process and sub-interpreter all can hold a file descriptor, so the three models talk to
the host in the same way, and nothing is shared between workers.
"""

import json
import math
import selectors
import socket
import time
from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]
CHUNK_BYTES = 65_536  # far below 256 KiB: a freed block above that changes glibc's behaviour


class ChannelClosedError(ConnectionError):
    """The other end went away without a word."""


class Channel:
    """One end of a line; messages are newline-delimited JSON."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self._socket.fileno()

    @property
    def has_more(self) -> bool:
        """Whether another message has come in together with the last one."""
        return b"\n" in self._received

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, message: Message) -> None:
        """Send one message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def take(self) -> Message | None:
        """Read what has come in once; return a message if a whole one is there.

        Raises:
            LineClosedError: the other end is gone.
        """
        message = self._whole()
        if message is None:
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except ConnectionResetError:  # it went away with something of ours unread
                chunk = b""
            if not chunk:
                raise ChannelClosedError("the other end of the line is gone")
            self._received += chunk
            message = self._whole()
        return message

    def receive(self) -> Message:
        """Wait for a message, blocking the thread."""
        while (message := self.take()) is None:
            pass
        return message

    def _whole(self) -> Message | None:
        end = self._received.find(b"\n")
        if end < 0:
            return None
        text = bytes(self._received[:end])
        del self._received[: end + 1]
        message: Message = json.loads(text)
        return message


def line_pair() -> tuple[Channel, socket.socket]:
    """Make a line: the host's end, and the socket that the worker makes its own of."""
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs


def receive_from_all(
    lines: Iterable[Channel],
    limit_s: float,
    watched: int | None = None,
    *,
    all_of_them: bool = True,
) -> dict[Channel, Message]:
    """Wait until every line has brought one message, or one of them that its worker failed.

    `watched` is a descriptor whose hanging up means that nobody waits for the answer any more.
    Unless `all_of_them` are needed, what has come within `limit_s` (`math.inf`: no limit) is good
    enough.

    Raises:
        TimeoutError: not all came within `limit_s`.
        LineClosedError: a worker went away without a word (it crashed, say).
        BrokenPipeError: the watcher is gone.
    """
    deadline = time.monotonic() + limit_s
    waiting = dict(enumerate(lines))
    messages: dict[Channel, Message] = {}
    with selectors.DefaultSelector() as selector:
        for index, channel in waiting.items():
            selector.register(channel, selectors.EVENT_READ, index)
        if watched is not None:
            selector.register(watched, selectors.EVENT_READ)
        ready = [index for index, channel in waiting.items() if channel.has_more]
        while True:
            for index in ready:
                message = _taken(waiting[index], index)
                if message is not None:
                    channel = waiting.pop(index)
                    messages[channel] = message
                    selector.unregister(channel)
                    if message["is"] == "failed":  # the others may wait for ever for its worker
                        return messages
            left_s = deadline - time.monotonic()
            if not waiting or (left_s <= 0 and not all_of_them):
                return messages
            if left_s <= 0:
                silent = f"{len(waiting)} of {len(waiting) + len(messages)} workers"
                raise TimeoutError(f"{silent} silent for {limit_s:g} s: hung, or the loop blocked")
            timeout_s = None if left_s == math.inf else left_s
            ready = [key.data for key, _ in selector.select(timeout_s)]
            if None in ready:
                raise BrokenPipeError("the driver is gone")


def _taken(channel: Channel, index: int) -> Message | None:
    try:
        return channel.take()
    except ChannelClosedError:
        raise ChannelClosedError(f"worker {index} went away without a word") from None
