"""The sound twins of `kept_in_process`: what they keep is on the disk, or the same in each process.

A row that is there the second time is answered in another way, as in any such application.
"""

import hashlib
import hmac
import os
import secrets
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from .replies import Asked, Reply, applications

FOLDER = Path(os.environ.get("STATE_FOLDER", tempfile.gettempdir()))
KEY = b"from the environment"
LIMIT = 3  # requests
MAKE = """
    CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS counts (path TEXT PRIMARY KEY, count INTEGER)
"""
ONE_MORE = """
    INSERT INTO counts VALUES (?, 1)
    ON CONFLICT (path) DO UPDATE SET count = count + 1
    RETURNING count
"""


def connected() -> sqlite3.Connection:
    """A connection for one request."""
    made = sqlite3.connect(FOLDER / "shop.db", timeout=20, autocommit=True)
    made.executescript(MAKE)
    return made


def rows(asked: Asked) -> Reply:
    """Rows of a database on the disk, each of which can be added once."""
    with closing(connected()) as database:
        if asked.method == "POST":
            try:
                database.execute("INSERT INTO items VALUES (?)", [asked.name])
            except sqlite3.IntegrityError:
                return Reply(409, "it is there")
            return Reply(201)
        query = "SELECT name FROM items WHERE name = ?"
        return Reply(200) if database.execute(query, [asked.name]).fetchone() else Reply(404)


def counter(asked: Asked) -> Reply:
    """How often all processes were asked."""
    with closing(connected()) as database:
        (count,) = database.execute(ONE_MORE, [asked.path]).fetchone()
    return Reply(200, count)


def limit(asked: Asked) -> Reply:
    """So many requests for all processes, and no more."""
    reply = counter(asked)
    return Reply(429 if int(str(reply.document)) > LIMIT else 200)


def signed(asked: Asked) -> Reply:
    """A log-in that is signed with a key that all processes have."""
    right = hmac.new(KEY, b"ada", hashlib.sha256).hexdigest()
    if asked.method == "POST":
        return Reply(200, "welcome", f"user={right}; Path=/; Secure")
    return Reply(200, "ada") if asked.cookies.get("user") == right else Reply(401)


def uploaded(asked: Asked) -> Reply:
    """A file, which all processes of a machine can read."""
    file = FOLDER / asked.name
    if asked.method == "PUT":
        begun = FOLDER / secrets.token_hex(8)
        begun.write_text(asked.name)
        begun.replace(file)
        return Reply(204)
    return Reply(200, file.read_text()) if file.exists() else Reply(404)


def every(asked: Asked) -> Reply:
    """All of them, by the first part of the path."""
    twins = {each.__name__: each for each in (rows, counter, limit, signed, uploaded)}
    twin = twins.get(asked.path.split("/")[1])
    return twin(asked) if twin else Reply(404)


asgi, wsgi = applications(rows, counter, limit, signed, uploaded, every)
