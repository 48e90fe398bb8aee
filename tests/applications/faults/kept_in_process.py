"""What one process keeps, and another does not have: an application for each function."""

import hashlib
import hmac
import secrets
from collections import Counter
from functools import lru_cache
from pathlib import Path

from .kept_outside import FOLDER
from .replies import Asked, Reply, applications

items: dict[str, int] = {}
counts: Counter[str] = Counter()
KEY = secrets.token_bytes(16)  # each process that imports this has its own


def dictionary(asked: Asked) -> Reply:
    """Items in a dict."""
    if asked.method == "POST":
        items[asked.name] = len(asked.name)
        return Reply(201)
    return Reply(200, items[asked.name]) if asked.name in items else Reply(404)


def raising(asked: Asked) -> Reply:
    """The same, and an exception where there is no such item."""
    if asked.method == "POST":
        items[asked.name] = len(asked.name)
        return Reply(201)
    return Reply(200, items[asked.name])


def counter(asked: Asked) -> Reply:
    """How often this process was asked."""
    counts[asked.path] += 1
    return Reply(200, counts[asked.path])


def signed(asked: Asked) -> Reply:
    """A log-in that is signed with the key of this process."""
    right = hmac.new(KEY, b"ada", hashlib.sha256).hexdigest()
    if asked.method == "POST":
        return Reply(200, "welcome", f"user={right}; Path=/")
    return Reply(200, "ada") if asked.cookies.get("user") == right else Reply(401)


@lru_cache
def price(file: Path) -> str:
    """A price in a file, read once."""
    return file.read_text()


def cached(asked: Asked) -> Reply:
    """Prices in files, which all processes have, behind a cache of each."""
    file = FOLDER / "price"
    if asked.method == "PUT":
        file.write_text(asked.name)
        price.cache_clear()
        return Reply(204)
    return Reply(200, price(file))


asgi, wsgi = applications(dictionary, raising, counter, signed, cached)
