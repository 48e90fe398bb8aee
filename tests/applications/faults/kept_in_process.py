"""What one process keeps, and another does not have: an application for each function."""

import hashlib
import hmac
import secrets
import sqlite3
from collections import Counter
from functools import lru_cache
from pathlib import Path

from .kept_outside import FOLDER
from .replies import Asked, Reply, applications

items: dict[str, int] = {}
sessions: dict[str, str] = {}
counts: Counter[str] = Counter()
LIMIT = 3  # requests
KEY = secrets.token_bytes(16)  # each process that imports this has its own
rows = sqlite3.connect(":memory:", check_same_thread=False)
rows.execute("CREATE TABLE items (name TEXT PRIMARY KEY)")


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


def session(asked: Asked) -> Reply:
    """A log-in that this process remembers."""
    if asked.method == "POST":
        sid = secrets.token_hex(8)
        sessions[sid] = asked.name
        return Reply(200, "welcome", f"sid={sid}; Path=/; Secure; HttpOnly")
    user = sessions.get(asked.cookies.get("sid", ""))
    return Reply(200, user) if user else Reply(401)


def counter(asked: Asked) -> Reply:
    """How often this process was asked."""
    counts[asked.path] += 1
    return Reply(200, counts[asked.path])


def limit(asked: Asked) -> Reply:
    """So many requests, and no more."""
    counts[asked.path] += 1
    return Reply(429 if counts[asked.path] > LIMIT else 200)


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


def in_memory(asked: Asked) -> Reply:
    """Rows of a database in the memory of this process."""
    if asked.method == "POST":
        rows.execute("INSERT OR REPLACE INTO items VALUES (?)", [asked.name])
        return Reply(201)
    query = "SELECT name FROM items WHERE name = ?"
    return Reply(200) if rows.execute(query, [asked.name]).fetchone() else Reply(404)


asgi, wsgi = applications(dictionary, raising, session, counter, limit, signed, cached, in_memory)
