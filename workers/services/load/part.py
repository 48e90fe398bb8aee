"""What one generator process is asked to send, as it goes from the coordinator to the process."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workers.services.load.arrivals import Overload
from workers.services.load.lane import Message
from workers.services.load.requests_list import Request, Target


@dataclass(frozen=True)
class Part:
    """The part of the load that one process sends. `rate_per_s` is the whole load's, None: max."""

    targets: Sequence[Target]
    requests: Sequence[Request]
    rate_per_s: float | None
    overload: Overload | None
    arrivals: str
    connections: int  # of this process
    seed: int
    keepalive: bool
    timeout_s: float
    place: int
    of: int
    in_slices: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Part":
        """The part from its document."""
        targets = [Target(**each) for each in document["targets"]]
        requests = [Request(**each) for each in document["requests"]]
        found = document["overload"]
        overload = Overload(*found) if found else None
        return cls(**{**document, "targets": targets, "requests": requests, "overload": overload})


def messages(part: Part, target: Target) -> list[Message]:
    """All requests as they are sent to a server."""
    if target.scheme == "tcp":
        return [Message(each.on_tcp(), None, is_head=False) for each in part.requests]
    return [
        Message(
            each.on_http(target.authority, target.path, keepalive=part.keepalive),
            each.status,
            is_head=each.method == "HEAD",
            declined=each.declined,
        )
        for each in part.requests
    ]


# ------------------------------------------------------------------------------------- stdin reader
# Standard input of a generator process: an asyncio stream whose end ends the process at once.
#
# A thread reads it from the start, so the end is noticed also while connections are being opened.

STDIN = 0
CHUNK_BYTES = 65_536
LINE_MOST_BYTES = 2**30  # a line holds the whole list of requests


def read_stdin() -> asyncio.StreamReader:
    """Read standard input from now on, for the running loop."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_MOST_BYTES, loop=loop)

    def read() -> None:
        # os.read: a daemon thread inside a buffered read breaks interpreter shutdown.
        with contextlib.suppress(OSError):  # a closed standard input counts as ended
            while data := os.read(STDIN, CHUNK_BYTES):
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(reader.feed_data, data)
        os._exit(1)  # the process that wanted the result is gone

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return reader
