"""Light and heavy requests: their paths, their work, and the WSGI application that answers them.

`/light` is answered at once; `/python/N` first runs N turns of a loop, and `/native/N` N rounds of
SHA-256 in OpenSSL, which lets other threads have the GIL meanwhile. The ASGI application is in
`workers.workloads.mix`: gunicorn imports this file alone.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from workers.workloads.parts.work import TURNS_PER_US, turns

LIGHT = "/light"
BODY = b"x" * 256
HEADERS = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(BODY)))]


def rounds(count: int) -> bytes:
    """Compute `count` rounds of SHA-256 in one call, without the GIL (PBKDF2, RFC 8018)."""
    return hashlib.pbkdf2_hmac("sha256", b"password", b"salt", count)


# Heavy work, and how much of it makes a nominal millisecond. As many rounds take about as
# long as the turns where the CPU has SHA instructions (x86-64 of 2025: 5 million/s).
HEAVY: Mapping[str, tuple[Callable[[int], object], int]] = {
    "python": (turns, 1_000 * TURNS_PER_US),
    "native": (rounds, 3_000),
}


def heavy_path(kind: str, cpu_ms: float) -> str:
    """The path of a heavy request of so many nominal ms."""
    return f"/{kind}/{max(1, round(cpu_ms * HEAVY[kind][1]))}"


def heavy_work(path: str) -> Callable[[], object] | None:
    """The heavy work that a path asks for; None of any other path."""
    _, kind, count = (*path.split("/"), "", "")[:3]
    return partial(HEAVY[kind][0], int(count)) if kind in HEAVY and count.isdecimal() else None


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The application, called in a thread of the server's."""
    path = environ["PATH_INFO"]
    work = heavy_work(path)
    if work:
        work()
    elif path != LIGHT:
        start_response("404 Not Found", [("Content-Length", "0")])
        return []
    start_response("200 OK", HEADERS)
    return [BODY]
