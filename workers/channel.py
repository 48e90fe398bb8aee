"""The channel between host and worker: JSON messages over a socket pair.

A thread, a process and a sub-interpreter can each hold a file descriptor. So all models talk to
the host in the same way, and workers share nothing.
"""

import json
import math
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Message = dict[str, Any]
DESCRIPTORS_MOST = 4  # that come with one message
CHUNK_BYTES = 65_536  # far below 256 KiB: glibc's malloc changes state once it frees a larger block


class ChannelClosedError(ConnectionError):
    """The other end closed without a message."""


class Channel:
    """One end of a channel; messages are newline-delimited JSON."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self._socket.fileno()

    @property
    def has_message(self) -> bool:
        """True if a whole message has already been read into the buffer."""
        return b"\n" in self._received

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send one message, with a few open files for the other end."""
        text = json.dumps(message).encode() + b"\n"
        if descriptors:
            sent = socket.send_fds(self._socket, [text], list(descriptors))
            text = text[sent:]
        self._socket.sendall(text)

    def poll(self) -> Message | None:
        """Return the next message if it is complete after at most one read, else None.

        Raises:
            ChannelClosedError: the other end is closed.
        """
        return self._poll(self._socket.recv)

    def receive(self) -> Message:
        """Wait for a message; blocks the thread."""
        while (message := self.poll()) is None:
            pass
        return message

    def receive_with_files(self) -> tuple[Message, list[int]]:
        """Wait for a message and the descriptors that come with it; blocks the thread.

        Apart from `receive`, because it makes the socket module import another one.
        """
        files: list[int] = []

        def receive(size: int) -> bytes:
            chunk, descriptors, _, _ = socket.recv_fds(self._socket, size, DESCRIPTORS_MOST)
            files.extend(descriptors)
            return chunk

        while (message := self._poll(receive)) is None:
            pass
        return message, files

    def _poll(self, receive: Callable[[int], bytes]) -> Message | None:
        message = self._next()
        if message is None:
            try:
                chunk = receive(CHUNK_BYTES)
            except ConnectionResetError:  # it closed before it had read all that we sent
                chunk = b""
            if not chunk:
                raise ChannelClosedError("the other end of the channel is closed")
            self._received += chunk
            message = self._next()
        return message

    def _next(self) -> Message | None:
        end = self._received.find(b"\n")
        if end < 0:
            return None
        text = bytes(self._received[:end])
        del self._received[: end + 1]
        message: Message = json.loads(text)
        return message


def receive_from_all(
    channels: Iterable[Channel],
    limit_s: float,
    driver: int | None = None,
    *,
    need_all: bool = True,
) -> dict[Channel, Message]:
    """Wait for one message from every channel, or for the first that reports a failure.

    `driver` is a descriptor that becomes readable when the driver is gone. Without `need_all`, the
    messages that arrived within `limit_s` are returned (`math.inf`: no limit).

    Raises:
        TimeoutError: a message is missing after `limit_s`.
        ChannelClosedError: a worker ended without reporting a failure (it crashed, say).
        BrokenPipeError: the driver is gone.
    """
    deadline = time.monotonic() + limit_s
    waiting = dict(enumerate(channels))
    messages: dict[Channel, Message] = {}
    with selectors.DefaultSelector() as selector:
        for index, channel in waiting.items():
            selector.register(channel, selectors.EVENT_READ, index)
        if driver is not None:
            selector.register(driver, selectors.EVENT_READ)
        ready = [index for index, channel in waiting.items() if channel.has_message]
        while True:
            for index in ready:
                message = _poll(waiting[index], index)
                if message is not None:
                    channel = waiting.pop(index)
                    messages[channel] = message
                    selector.unregister(channel)
                    if message["is"] == "failed":  # the others may wait for this worker for ever
                        return messages
            left_s = deadline - time.monotonic()
            if not waiting or (left_s <= 0 and not need_all):
                return messages
            if left_s <= 0:
                silent = f"{len(waiting)} of {len(waiting) + len(messages)} workers"
                raise TimeoutError(
                    f"{silent} sent nothing for {limit_s:g} s: hung, or the loop is blocked"
                )
            timeout_s = None if left_s == math.inf else left_s
            ready = [key.data for key, _ in selector.select(timeout_s)]
            if None in ready:
                raise BrokenPipeError("the driver is gone")


def _poll(channel: Channel, index: int) -> Message | None:
    try:
        return channel.poll()
    except ChannelClosedError:
        raise ChannelClosedError(f"worker {index} ended without reporting why") from None


# ----------------------------------------------------------------------------------------- observer
# The driver's view of a run: it is notified of each phase, and the child waits for its reply.
#
# The driver reads memory, never the child. At the phases where a reading belongs (imports done,
# window closed with all workers still busy) the child notifies the driver and waits until it has
# read.


class DriverError(RuntimeError):
    """The driver could not do its part of a run."""


class Observer:
    """The channel to the driver; without a descriptor, phases pass without notice or wait."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        self._channel = None if descriptor is None else Channel(socket.socket(fileno=descriptor))

    def phase(self, name: str, pids: list[int], **facts: Any) -> Message:
        """Announce a phase, the process ids of the run and what else the driver needs to know.

        Returns what the driver has replied: usually nothing but that.

        Raises:
            ChannelClosedError: the driver is gone.
            DriverError: the driver could not do its part; the message says why.
        """
        if self._channel is None:
            return {}
        self._channel.send({"phase": name, "pids": pids, **facts})
        reply = self._channel.receive()
        if "failed" in reply:
            raise DriverError(reply["failed"])
        return reply

    def close(self) -> None:
        """Close the channel: the run is over."""
        if self._channel is not None:
            self._channel.close()
